// Code, block by block, with pressure and live ranges. Only the rows in view exist.
import { element } from './dom.js';
import { cost, named, PART_NAMES } from './model.js';
import { heatColour, registerColour } from './colours.js';

const HEIGHT = 20;
const COLUMN = 14;
const MARKERS = { reload: '▲', store: '▼', remat: '◆', copy: '→', exchange: '⇄', folded: '●' };

export class CodeView {
  constructor(model, select) {
    Object.assign(this, { model, select, selection: {}, related: new Set() });
    this.section = document.getElementById('code');
    this.lines = [];
    this.lineOfRow = new Uint32Array(model.rows.length);
    model.blocks.forEach((block, index) => {
      this.lines.push({ block: index });
      for (let row = block.rows[0]; row < block.rows[1]; row++) {
        this.lineOfRow[row] = this.lines.length;
        this.lines.push({ row });
      }
    });
    this.filter = element('select', { onchange: () => this.choose() },
      element('option', { value: 'interesting' }, 'spilled or moved'),
      element('option', { value: 'all' }, 'all'));
    if (model.values.length) {
      this.section.append(element('div.tools', {},
        element('label', {}, 'Values', this.filter),
        element('span.faint', { 'aria-hidden': 'true' }, `${MARKERS.reload} reload  ${MARKERS.store} store  ${MARKERS.folded} operand in memory  ${MARKERS.remat} computed again  ${MARKERS.copy} copy  ${MARKERS.exchange} exchange`),
        element('span.faint', {}, 'coloured: in a register; hatched: in memory only')));
    }
    this.rows = element('div.rows', { role: 'grid', tabindex: '0', 'aria-label': 'Code with live ranges', 'aria-rowcount': this.lines.length + 1, onkeydown: (event) => this.key(event), onscroll: () => this.schedule() });
    this.head = element('div.head', { role: 'row', 'aria-rowindex': 1 });
    this.body = element('div.body', { role: 'rowgroup', style: `height:${this.lines.length * HEIGHT}px` });
    this.canvas = element('canvas.canvas', { 'aria-hidden': 'true', onclick: (event) => this.pick(event), onmousemove: (event) => this.hint(event) });
    this.rows.append(this.head, this.body);
    this.section.append(this.rows);
    this.choose();
    new ResizeObserver(() => this.schedule()).observe(this.rows);
  }

  /** Chooses the values that have columns, and packs those that never meet into one. */
  choose() {
    const { model } = this;
    const isWanted = (value, index) =>
      value.pieces.length && (this.filter.value === 'all' || model.isAway(value) || value.cost > 0 || index === this.selection.value);
    const wanted = model.values.map((value, index) => index).filter((index) => isWanted(model.values[index], index));
    const start = (index) => model.values[index].pieces[0].rows[0];
    wanted.sort((a, b) => start(a) - start(b));
    const ends = [];
    this.columns = new Map();
    for (const index of wanted) {
      const { pieces } = model.values[index];
      let column = ends.findIndex((end) => end <= pieces[0].rows[0]);
      if (column < 0) column = ends.push(0) - 1;
      ends[column] = pieces[pieces.length - 1].rows[1];
      this.columns.set(index, column);
    }
    this.byRow = null;
    this.width = Math.min(ends.length * COLUMN + 6, 6000);
    this.rows.style.setProperty('--ranges', `${this.width}px`);
    this.heading();
    this.draw();
  }

  heading() {
    const cell = (kind, text) => element(`span.cell.${kind}`, { role: 'columnheader' }, text);
    this.head.replaceChildren(
      cell('c-row', 'row'), cell('c-line', 'line'), element('span.cell.c-heat', { role: 'columnheader', title: 'how often it is executed' }, 'heat'),
      ...this.model.usedBanks.map((bank) => cell('c-bank', this.model.banks[bank].name)),
      cell('c-text', 'instruction'),
      element('span.cell.c-ranges', { role: 'columnheader', style: `width:${this.width}px` }, this.width > 60 ? 'live ranges' : ''),
      cell('c-part', 'added by allocation'));
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(); });
  }

  /** The lines in view. */
  window() {
    const first = Math.max(0, Math.floor(this.rows.scrollTop / HEIGHT) - 6);
    const count = Math.ceil((this.rows.clientHeight || 600) / HEIGHT) + 12;
    return [first, Math.min(this.lines.length, first + count)];
  }

  draw() {
    const [first, end] = this.window();
    const made = [];
    for (let index = first; index < end; index++) made.push(this.line(index));
    this.body.replaceChildren(...made, this.canvas);
    this.paint(first, end);
  }

  line(index) {
    const { block, row } = this.lines[index];
    const style = `top:${index * HEIGHT}px`;
    if (block !== undefined) {
      const { name, frequency, header, depth, succs, cost: amount } = this.model.blocks[block];
      const loop = header ? `, loop ${header}, depth ${depth}` : '';
      const said = `${name}: executed ${cost(frequency)} times${loop}, allocation costs ${cost(amount)}, goes to ${succs.join(', ') || 'the caller'}`;
      return element('div.block', { role: 'row', 'aria-rowindex': index + 2, style, onclick: () => this.select({ block }) }, element('span', { role: 'gridcell' }, said));
    }
    return this.instruction(index, row, style);
  }

  instruction(index, row, style) {
    const { model } = this;
    const { text, place, part, cost: amount = 0, values = [] } = model.rows[row];
    const frequency = model.frequency(row);
    const classes = [this.selection.row === row && 'selected', this.related.has(row) && 'related'].filter(Boolean);
    const of = values.map((value) => named(model.values[value])).join(', ');
    const added = part ? `${PART_NAMES[part]}${of ? ` of ${of}` : ''}, ${cost(amount)}` : '';
    const pressure = model.usedBanks.map((bank) => this.pressure(bank, row));
    const label = `row ${row}${place ? `, line ${place[1]}` : ''}: ${text}${added ? `; ${added}` : ''}; executed ${cost(frequency)} times; ${pressure.map((it) => it.said).join('; ')}`;
    return element(['div', ...classes].join('.'),
      { role: 'row', id: `row-${row}`, 'aria-rowindex': index + 2, 'aria-selected': this.selection.row === row ? 'true' : 'false', 'aria-label': label, style, onclick: () => this.select({ row, value: values[0] }) },
      element('span.cell.c-row', { role: 'gridcell' }, String(row)),
      element('span.cell.c-line', { role: 'gridcell' }, place ? String(place[1]) : ''),
      element('span.cell.c-heat', { role: 'gridcell', title: `executed ${cost(frequency)} times`, style: `background:${heatColour(model.heat(frequency))}` }),
      pressure.map((it) => it.cell),
      element('span.cell.c-text', { role: 'gridcell', title: text }, text),
      element('span.cell.c-ranges', { role: 'gridcell', style: `width:${this.width}px` }),
      element('span.cell.c-part', { role: 'gridcell', title: added }, part ? [element(`span.tag.${part}`, {}, PART_NAMES[part]), `${of} `, element('span.faint', {}, cost(amount))] : ''));
  }

  pressure(bank, row) {
    const { name, live, supply } = this.model.banks[bank];
    const over = live[row] > supply[row];
    const share = Math.min(1, live[row] / Math.max(1, supply[row], live[row]));
    const said = `${live[row]} ${name} values for ${supply[row]} registers${over ? ', too many' : ''}`;
    const cell = element('span.cell.c-bank', { role: 'gridcell', title: said },
      element(over ? 'i.over' : 'i', { style: `width:${(over ? 1 : share) * 92}%` }),
      element('b', {}, live[row] || supply[row] ? `${live[row]}/${supply[row]}${over ? ' !' : ''}` : ''));
    return { cell, said };
  }

  /** Values with a column, by blocks of rows, so that a window finds its own without looking at all. */
  index() {
    if (this.byRow) return;
    this.byRow = new Map();
    for (const index of this.columns.keys()) {
      for (const piece of this.model.values[index].pieces) {
        for (let bucket = piece.rows[0] >> 6; bucket <= (piece.rows[1] - 1) >> 6; bucket++) {
          if (!this.byRow.has(bucket)) this.byRow.set(bucket, new Set());
          this.byRow.get(bucket).add(index);
        }
      }
    }
  }

  paint(first, end) {
    const { canvas, model } = this;
    const left = this.left();
    const scale = window.devicePixelRatio || 1;
    const height = (end - first) * HEIGHT;
    Object.assign(canvas.style, { left: `${left}px`, top: `${first * HEIGHT}px`, width: `${this.width}px`, height: `${height}px` });
    canvas.width = this.width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext('2d');
    context.scale(scale, scale);
    this.index();
    const rows = [];
    for (let index = first; index < end; index++) if (this.lines[index].row !== undefined) rows.push(this.lines[index].row);
    if (!rows.length) return;
    const [low, high] = [rows[0], rows[rows.length - 1] + 1];
    const seen = new Set();
    for (let bucket = low >> 6; bucket <= high >> 6; bucket++) for (const index of this.byRow.get(bucket) ?? []) seen.add(index);
    const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink');
    const faint = getComputedStyle(document.documentElement).getPropertyValue('--faint');
    for (const index of seen) this.range(context, index, first, low, high, { ink, faint });
    context.textAlign = 'center';
    context.font = '10px system-ui';
    context.fillStyle = ink;
    for (const row of rows) {
      const mark = MARKERS[model.rows[row].part];
      for (const value of mark ? model.rows[row].values ?? [] : []) {
        const column = this.columns.get(value);
        if (column !== undefined) context.fillText(mark, column * COLUMN + COLUMN / 2 + 3, (this.lineOfRow[row] - first) * HEIGHT + 14);
      }
    }
  }

  range(context, index, first, low, high, { ink, faint }) {
    const value = this.model.values[index];
    const x = this.columns.get(index) * COLUMN + 3;
    const isSelected = this.selection.value === index;
    for (const piece of value.pieces) {
      const [from, to] = [Math.max(piece.rows[0], low), Math.min(piece.rows[1], high)];
      for (let row = from; row < to; row++) {
        const y = (this.lineOfRow[row] - first) * HEIGHT;
        if (piece.registers.length) {
          context.fillStyle = registerColour(this.model.registers.get(piece.registers[0]) ?? 0);
          context.fillRect(x + 2, y, COLUMN - 5, HEIGHT);
        } else {
          context.strokeStyle = faint;
          context.lineWidth = 1;
          context.strokeRect(x + 2.5, y, COLUMN - 6, HEIGHT);
          context.beginPath();
          for (let step = 0; step < HEIGHT; step += 5) {
            context.moveTo(x + 3, y + step + 5);
            context.lineTo(x + COLUMN - 4, y + step);
          }
          context.stroke();
        }
        if (isSelected) {
          context.fillStyle = ink;
          context.fillRect(x, y, 1.5, HEIGHT);
          context.fillRect(x + COLUMN - 2.5, y, 1.5, HEIGHT);
        }
      }
    }
  }

  /** Where the live ranges begin. */
  left() {
    return this.head.querySelector('.c-ranges').offsetLeft;
  }

  /** The value under the pointer. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - 3) / COLUMN);
    const [first] = this.window();
    const line = this.lines[first + Math.floor((event.clientY - box.top) / HEIGHT)];
    const row = line?.row;
    if (row === undefined) return { row };
    for (const index of this.byRow?.get(row >> 6) ?? []) {
      const holds = this.model.values[index].pieces.some((piece) => piece.rows[0] <= row && row < piece.rows[1]);
      if (holds && this.columns.get(index) === column) return { row, value: index };
    }
    return { row };
  }

  pick(event) {
    const found = this.at(event);
    if (found.row !== undefined) this.select(found);
  }

  hint(event) {
    const { row, value } = this.at(event);
    if (value === undefined) { this.canvas.title = ''; return; }
    const it = this.model.values[value];
    const piece = it.pieces.find((piece) => piece.rows[0] <= row && row < piece.rows[1]);
    this.canvas.title = `${named(it)}: ${piece.registers.join(', ') || 'in memory'}${piece.slot ? ` (${piece.slot})` : ''}`;
  }

  key(event) {
    const { row, block } = this.selection;
    const heading = block === undefined ? 0 : this.lines.findIndex((line) => line.block === block);
    const line = row === undefined ? heading : this.lineOfRow[row];
    const page = Math.max(1, Math.floor(this.rows.clientHeight / HEIGHT) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.lines.length, End: this.lines.length };
    if (event.key in steps) {
      event.preventDefault();
      this.move(line, steps[event.key]);
    } else if ((event.key === 'ArrowRight' || event.key === 'ArrowLeft') && row !== undefined) {
      event.preventDefault();
      this.step(row, event.key === 'ArrowRight' ? 1 : -1);
    } else if (event.key === 'Enter') {
      document.getElementById('why').focus();
    }
  }

  move(line, by) {
    const wanted = Math.min(this.lines.length - 1, Math.max(0, line + by));
    const isRow = (index) => this.lines[index]?.row !== undefined;
    // Block headings are passed by: onwards, or at the ends of the code, back.
    let next = wanted;
    for (const direction of by < 0 ? [-1, 1] : [1, -1]) {
      for (next = wanted; this.lines[next] && !isRow(next); next += direction);
      if (isRow(next)) break;
    }
    const row = this.lines[next]?.row;
    if (row !== undefined) this.select({ row, value: this.model.rows[row].values?.[0] });
  }

  /** Goes through the values that a row names and that live there. */
  step(row, by) {
    const { values = [], reads = [], defines = [] } = this.model.rows[row];
    const here = [...new Set([...values, ...reads, ...defines])];
    if (!here.length) return;
    const at = here.indexOf(this.selection.value);
    this.select({ row, value: here[(at + by + here.length) % here.length] });
  }

  show(selection, scroll) {
    this.selection = selection;
    const { model } = this;
    const value = model.values[selection.value];
    this.related = new Set(value ? [...value.defined, ...value.read, ...model.rows.flatMap((row, index) => (row.values?.includes(selection.value) ? [index] : []))] : []);
    if (selection.line) for (const row of model.rowsOfLine.get(selection.line.join(':')) ?? []) this.related.add(row);
    if (value && !this.columns.has(selection.value)) this.choose();
    const line = selection.block !== undefined ? this.lines.findIndex((line) => line.block === selection.block) : selection.row === undefined ? null : this.lineOfRow[selection.row];
    if (scroll && line !== null) {
      const top = line * HEIGHT;
      const [from, to] = [this.rows.scrollTop, this.rows.scrollTop + this.rows.clientHeight - 2 * HEIGHT];
      if (top < from + HEIGHT || top > to - HEIGHT) this.rows.scrollTop = Math.max(0, top - this.rows.clientHeight / 3);
    }
    this.draw();
    this.rows.setAttribute('aria-activedescendant', selection.row === undefined ? '' : `row-${selection.row}`);
  }
}
