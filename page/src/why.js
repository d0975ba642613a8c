// Why a value is where it is: its life, who competes for registers on its way, and what would change that.
import { element, link, table } from './dom.js';
import { cost, named, PART_NAMES } from './model.js';
import { registerColour } from './colours.js';
import { whatIf } from './verdict.js';

export function why(model, selection, select) {
  const panel = document.getElementById('why');
  const value = model.values[selection.value];
  if (value) panel.replaceChildren(...ofValue(model, value, selection, select));
  else if (selection.row !== undefined) panel.replaceChildren(...ofRow(model, selection.row, select));
  else panel.replaceChildren(...dearest(model, select));
}

/** Where to begin: the values that cost most. */
function dearest(model, select) {
  const indices = model.values.map((_, index) => index).filter((index) => model.values[index].cost > 0);
  indices.sort((a, b) => model.values[b].cost - model.values[a].cost);
  if (!model.values.length) return [element('p', {}, 'This allocator is no part of chordal: what it knows of values is not known. Select a row to see what allocation added there.')];
  if (!indices.length) return [element('p', {}, 'Nothing is spilled, moved or computed again here: every value keeps its register.')];
  const row = (index) => {
    const value = model.values[index];
    return [link(named(value), () => select({ value: index, row: value.defined[0] ?? value.pieces[0]?.rows[0] })), value.class, cost(value.cost)];
  };
  return [element('h3', {}, 'Values that cost most'), element('p.faint', {}, 'Select one, a row of code, or a live range.'), table(['value', 'class', 'cost'], indices.slice(0, 25).map(row))];
}

function ofRow(model, row, select) {
  const { text, part, cost: amount, reads = [], defines = [], values = [] } = model.rows[row];
  const list = (title, indices) => (indices.length ? [element('h3', {}, title), element('ul', {}, indices.map((index) => element('li', {}, link(named(model.values[index]), () => select({ row, value: index })))))] : []);
  return [
    element('h3', {}, `Row ${row}`),
    element('p.mono', {}, text),
    part ? element('p', {}, `Allocation: ${PART_NAMES[part]}, costs ${cost(amount ?? 0)}.`) : element('p', {}, 'An instruction of the program.'),
    ...list('Moves', values),
    ...list('Reads', reads),
    ...list('Defines', defines),
    ...prices(model, model.pricesOfRow.get(row) ?? [], null, select),
  ];
}

function ofValue(model, value, selection, select) {
  const web = model.web(value);
  const cut = (text) => (text.length > 90 ? `${text.slice(0, 90)}…` : text);
  const parts = [
    element('h3', {}, named(value)),
    element('p.faint', {}, `class ${value.class}, ${model.banks[value.bank].name} registers; costs ${cost(value.cost)}`),
  ];
  if (value.why) parts.push(element('p.callout', {}, value.why));
  else if (value.cost > 0) parts.push(element('p.callout', {}, 'It is never in memory alone; its cost is copies, or a store for later.'));
  else parts.push(element('p.callout', {}, 'It is in a register all its life, and costs nothing.'));
  if (web.length > 1) {
    const others = web.filter((other) => other !== value);
    const sum = web.reduce((total, other) => total + other.cost, 0);
    const rent = web.reduce((total, other) => total + (other.rent ?? 0), 0);
    parts.push(element('p', {}, `φs make one variable of it and ${others.length} others, which together cost ${cost(sum)} in memory${rent ? `, and would cost ${cost(rent)} in a register` : ''}: `,
      ...others.slice(0, 6).flatMap((other) => [link(other.name, () => jump(other)), ' ']), others.length > 6 ? '…' : ''));
  }
  parts.push(...life(), ...actions(), ...onTheWay());
  return parts;

  function jump(other) {
    select({ value: model.values.indexOf(other), row: other.defined[0] ?? other.pieces[0]?.rows[0] });
  }

  function life() {
    const rows = value.pieces.map((piece) => [
      link(`${piece.rows[0]}–${piece.rows[1] - 1}`, () => select({ value: selection.value, row: piece.rows[0] })),
      element('span', {}, piece.registers.map((register) => [element('i.swatch', { style: `background:${registerColour(model.registers.get(register) ?? 0)}` }), register, ' ']),
        piece.slot ? `${piece.registers.length ? 'and ' : 'memory '}${piece.slot}` : '', !piece.registers.length && !piece.slot ? 'computed again when needed' : ''),
    ]);
    return [element('h3', {}, 'Where it lives'), table(['rows', 'place'], rows.slice(0, 30)), rows.length > 30 ? element('p.faint', {}, `and ${rows.length - 30} more parts`) : null].filter(Boolean);
  }

  function actions() {
    const rows = model.rows.flatMap((row, index) => (row.part && row.values?.includes(selection.value) ? [index] : []));
    if (!rows.length) return [];
    rows.sort((a, b) => (model.rows[b].cost ?? 0) - (model.rows[a].cost ?? 0));
    const line = (index) => [link(String(index), () => select({ value: selection.value, row: index })), PART_NAMES[model.rows[index].part], cost(model.rows[index].cost ?? 0), element('span.mono', {}, cut(model.rows[index].text))];
    return [element('h3', {}, 'What it takes'), table(['row', 'what', 'cost', 'instruction'], rows.slice(0, 12).map(line))];
  }

  function onTheWay() {
    const isAway = (piece) => !piece.registers.length;
    const away = value.pieces.filter(isAway);
    const spans = away.length ? away : value.pieces;
    const pricesIn = (spans) => {
      const within = (row) => spans.some((piece) => piece.rows[0] <= row && row < piece.rows[1]);
      return model.allocation.prices.filter((price) => price.bank === value.bank && within(price.row));
    };
    // Where no register has a price on its own way, one has on that of the variable.
    let found = pricesIn(spans);
    if (!found.length && value.why) found = pricesIn(web.flatMap((other) => other.pieces.filter(isAway)));
    const bank = model.banks[value.bank];
    const crowded = [];
    for (const piece of spans) for (let row = piece.rows[0]; row < piece.rows[1]; row++) if (bank.live[row] > bank.supply[row]) crowded.push(row);
    crowded.sort((a, b) => bank.live[b] - bank.supply[b] - (bank.live[a] - bank.supply[a]) || a - b);
    const list = [];
    if (crowded.length) {
      const row = (at) => [link(String(at), () => select({ value: selection.value, row: at })), `${bank.live[at]} / ${bank.supply[at]}`, element('span.mono', {}, cut(model.rows[at].text))];
      list.push(element('h3', {}, 'Where registers are short on its way'), element('p.faint', {}, `${crowded.length} rows; values that meet / ${bank.name} registers`), table(['row', 'values / registers', 'instruction'], crowded.slice(0, 5).map(row)));
    }
    const priced = found.find((price) => price.competitors.length);
    list.push(...prices(model, priced ? [priced] : [], selection.value, select));
    if (!found.length && value.why) list.push(element('h3', {}, 'The rule'), element('p', {}, model.allocation.rule || 'This allocator knows no prices.'));
    const what = model.allocation.counterfactuals.filter((it) => it.bank === value.bank);
    if (away.length && what.length) list.push(element('h3', {}, 'What would avoid it'), element('ul', {}, what.map((it) => element('li', {}, whatIf(model, it)))));
    return list;
  }
}

/** Who competes where registers have a price. */
function prices(model, list, own, select) {
  return list.flatMap((price) => {
    const row = (it) => [
      link(`${named(model.values[it.value])}${it.value === own ? ' ← this' : ''}`, () => select({ value: it.value, row: price.row })),
      it.in_register ? 'register' : 'memory',
      it.evict === null || it.evict === undefined ? 'needed here' : cost(it.evict),
    ];
    const sorted = [...price.competitors].sort((a, b) => (a.evict ?? Infinity) - (b.evict ?? Infinity));
    return [
      element('h3', {}, `Who competes at row ${price.row}`),
      element('p.faint', {}, `A register costs ${cost(price.price)} at this row alone; a value pays the sum over all rows on which it is in one. Evicting: the store and reloads that it would take to have that value in memory here.`),
      table(['value', 'is in', 'evicting costs'], sorted.map(row)),
    ];
  });
}
