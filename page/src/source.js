// The source, each line with what allocation costs on it.
import { element } from './dom.js';
import { cost } from './model.js';
import { heatColour } from './colours.js';

export class SourceView {
  constructor(model, select) {
    this.section = document.getElementById('source');
    this.lines = new Map();
    const list = this.section.querySelector('.lines');
    const sources = model.sources.map((source, index) => ({ ...source, index })).filter((source) => source.lines.length);
    if (!sources.length) {
      this.section.hidden = true;
      document.getElementById('work').classList.add('sourceless');
      return;
    }
    for (const { file, lines, index } of sources) {
      if (sources.length > 1 || file) list.append(element('h3', {}, file));
      let last = null;
      for (const [number, text] of lines) {
        if (last !== null && number > last + 1) list.append(element('div.sline', { 'aria-hidden': 'true' }, element('span'), element('span'), element('span.faint', {}, '⋯')));
        last = number;
        list.append(this.line(model, select, index, number, text));
      }
    }
  }

  line(model, select, source, number, text) {
    const rows = model.rowsOfLine.get(`${source}:${number}`) ?? [];
    const amount = model.costOfLine.get(`${source}:${number}`) ?? 0;
    const frequency = Math.max(0, ...rows.map((row) => model.frequency(row)));
    const said = rows.length ? `executed ${cost(frequency)} times, allocation costs ${cost(amount)}` : 'no code';
    const made = element(
      rows.length ? 'button.sline' : 'div.sline',
      rows.length
        ? { type: 'button', title: said, onclick: () => select({ row: rows[0], line: [source, number] }) }
        : {},
      element('span.faint.number', {}, String(number)),
      element('span.cost', rows.length ? { style: `background:${heatColour(model.heat(frequency))};color:#14171b` } : {}, amount ? cost(amount) : ''),
      element('span', {}, text || ' '),
    );
    this.lines.set(`${source}:${number}`, made);
    return made;
  }

  show(place, scroll) {
    this.selected?.classList.remove('selected');
    this.selected = place ? this.lines.get(place.join(':')) : null;
    this.selected?.classList.add('selected');
    if (scroll) this.selected?.scrollIntoView({ block: 'nearest' });
  }
}
