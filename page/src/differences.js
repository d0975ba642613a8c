// Where another allocator's code costs more or less.
import { element, link, table } from './dom.js';
import { cost, PART_NAMES } from './model.js';

export function differences(model, select) {
  if (!model.against) return;
  const section = document.getElementById('differences');
  section.hidden = false;
  const { allocator } = model.against;
  const names = [...new Set([...model.blockCosts.keys(), ...model.againstCosts.keys()])];
  const total = (costs) => Object.values(costs ?? {}).reduce((sum, amount) => sum + amount, 0);
  const rows = names
    .map((name) => {
      const [own, other] = [model.blockCosts.get(name), model.againstCosts.get(name)];
      return { name, own: own ?? {}, other: other ?? {}, difference: total(own) - total(other) };
    })
    .filter((row) => Math.abs(row.difference) >= 0.0005)
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
  if (!rows.length) {
    section.append(element('p', {}, `No block costs more or less than with ${allocator}.`));
    return;
  }
  const shown = rows.slice(0, 50);
  const line = (row) => {
    const parts = Object.keys(PART_NAMES).filter((part) => Math.abs((row.own[part] ?? 0) - (row.other[part] ?? 0)) >= 0.0005);
    const detail = parts.map((part) => `${PART_NAMES[part]} ${cost(row.own[part] ?? 0)} (${cost(row.other[part] ?? 0)})`).join(', ');
    const index = model.blockByName.get(row.name);
    const name = index === undefined ? row.name : link(row.name, () => select({ row: model.blocks[index].rows[0] }));
    const amount = `${row.difference > 0 ? '+' : '−'}${cost(Math.abs(row.difference))}`;
    return [
      name,
      element(`b.${row.difference > 0 ? 'worse' : 'better'}`, {}, amount),
      element('span', {}, detail),
      element('details', { ontoggle: (event) => both(event.target, row.name) }, element('summary', {}, 'both codes')),
    ];
  };
  section.append(
    element('p.faint', {}, `Blocks in which ${model.allocation.allocator} costs more (+) or less (−) than ${allocator}, whose costs are in parentheses.`),
    element('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Differences by block' }, table(['block', 'difference', 'parts', 'codes'], shown.map(line))),
  );
  if (rows.length > shown.length) section.append(element('p.faint', {}, `And ${rows.length - shown.length} more blocks, which differ less.`));

  function both(details, name) {
    if (!details.open || details.childElementCount > 1) return;
    const text = (allocation) => {
      const block = allocation.blocks.find((block) => block.name === name);
      if (!block) return '(it has no such block)';
      const rows = allocation.rows.slice(...block.rows);
      return rows.map((row) => `${row.part ? `${row.text}  ; ${PART_NAMES[row.part]} ${cost(row.cost ?? 0)}` : row.text}`).join('\n');
    };
    const pre = (allocation) => element('div', {}, element('b', {}, allocation.allocator), element('pre', {}, text(allocation)));
    details.append(element('div', { style: 'display:flex;gap:2rem' }, pre(model.allocation), pre(model.against)));
  }
}
