// What is printed: the code, and the dearest values.
import { element, table } from './dom.js';
import { cost, named, PART_NAMES } from './model.js';

const MOST = 1500;

export function print(model) {
  const values = model.values.filter((value) => value.cost > 0).sort((a, b) => b.cost - a.cost).slice(0, 20);
  const texts = new Map(model.sources.flatMap((source, index) => source.lines.map(([number, text]) => [`${index}:${number}`, text])));
  let last = '';
  const line = (row, index) => {
    const key = row.place ? row.place.join(':') : '';
    const text = key && key !== last ? `${row.place[1]}  ${(texts.get(key) ?? '').trim()}` : '';
    if (key) last = key;
    const of = (row.values ?? []).map((value) => named(model.values[value])).join(', ');
    return [String(index), element('span.mono', {}, text), element('span.mono', {}, row.text), row.part ? `${PART_NAMES[row.part]} ${of} ${cost(row.cost ?? 0)}` : ''];
  };
  document.getElementById('print').replaceChildren(
    element('h2', {}, 'Values that cost most'),
    table(['value', 'cost', 'why'], values.map((value) => [named(value), cost(value.cost), value.why ?? ''])),
    element('h2', {}, 'Code'),
    table(['row', 'source', 'instruction', 'added by allocation'], model.rows.slice(0, MOST).map(line)),
    model.rows.length > MOST ? element('p', {}, `and ${model.rows.length - MOST} more rows`) : '',
  );
}
