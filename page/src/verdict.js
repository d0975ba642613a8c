// What allocation costs by part, beside the other allocator; the dearest places; what one more register would save.
import { element, link } from './dom.js';
import { cost, named, PART_NAMES, percent } from './model.js';

export function verdict(model, select) {
  const { allocation, against } = model;
  const section = document.getElementById('verdict');
  section.append(bars(model), places(model, select), legend());
  if (allocation.fallback) section.append(element('p.callout', {}, `Left to another allocator: ${allocation.fallback}`));
  return section;

  function bars() {
    const all = [allocation, against].filter(Boolean);
    const parts = model.parts.filter((part) => all.some((it) => Math.abs(it.verdict.parts[part]) >= 5e-4));
    const most = Math.max(1e-9, ...all.flatMap((it) => parts.map((part) => Math.abs(it.verdict.parts[part]))));
    const bar = (it, kind) => element(`i${kind}`, { style: `width:${(100 * Math.abs(it)) / most}%` });
    const header = ['part', '', ...all.map((it) => it.allocator)];
    const row = (part) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, part),
        element('td.bar', { 'aria-hidden': 'true' }, all.map((it, index) => bar(it.verdict.parts[part], index ? '.against' : ''))),
        all.map((it) => element('td.number', {}, cost(it.verdict.parts[part]))),
      );
    const total = element(
      'tr',
      {},
      element('th', { scope: 'row' }, element('b', {}, 'in all')),
      element('td'),
      all.map((it) => element('td.number', {}, element('b', {}, cost(it.verdict.overhead)), ` (${percent(it.verdict.share)})`)),
    );
    return element(
      'div',
      {},
      element(
        'table.bars',
        {},
        element('thead', {}, element('tr', {}, header.map((name, at) => (name ? element(at > 1 ? 'th.number' : 'th', { scope: 'col' }, name) : element('td'))))),
        element('tbody', {}, parts.map(row), total),
      ),
    );
  }

  function places() {
    const { verdict, counterfactuals } = allocation;
    const parts = [];
    if (verdict.spill_cost !== undefined && verdict.spill_bound !== undefined) {
      const above = verdict.spill_cost - verdict.spill_bound;
      const how =
        above < 0.0005
          ? 'No plan of its model costs less.'
          : `No plan of its model costs less than ${cost(verdict.spill_bound)}: at most ${percent(above / verdict.spill_cost)} could be gained.`;
      parts.push(element('p', {}, `Spilling costs ${cost(verdict.spill_cost)} as the allocator counts it. ${how}`));
    }
    const dearest = verdict.dearest.map((row) => {
      const { text, part, cost: amount, values = [] } = model.rows[row];
      const of = values.length ? ` of ${values.map((value) => named(model.values[value])).join(', ')}` : '';
      return element('li', {}, link(text, () => select({ row, value: values[0] })), ` – ${PART_NAMES[part] ?? part}${of}, ${cost(amount)}`);
    });
    if (dearest.length) parts.push(element('h3', {}, 'The dearest places'), element('ol', {}, dearest));
    if (counterfactuals.length) {
      parts.push(element('h3', {}, 'With one more register'), element('ul', {}, counterfactuals.map((it) => element('li', {}, whatIf(model, it)))));
    }
    return element('div', {}, parts);
  }
}

/** A sentence about what one more register would save. */
export function whatIf(model, it) {
  const where = it.loop_header ? ` in the loop at ${it.loop_header}` : '';
  const kind = it.preserved ? ', one that calls preserve,' : ', one that calls destroy,';
  const saved = it.cost - it.with;
  return `With one more ${model.banks[it.bank].name} register${where}${kind} allocation would cost ${cost(saved)} (${percent(saved / it.cost)}) less.`;
}

function legend() {
  return element(
    'p.legend',
    { style: 'grid-column:1/-1' },
    'Costs are executions of instructions for each call of the function, by estimated block frequencies, weighted: a ',
    element('b', {}, 'reload'), ' or restore 4, a ', element('b', {}, 'store'), ' or save 1, a ', element('b', {}, 'copy'),
    ' 0.2, an exchange 0.6, a value computed again 0.2 or 1. The share divides them by what the selected code executes.',
  );
}
