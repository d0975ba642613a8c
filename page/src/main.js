// Puts the views together: whatever is selected anywhere is shown everywhere, and in the address.
import { element } from './dom.js';
import { Model, named } from './model.js';
import { verdict } from './verdict.js';
import { differences } from './differences.js';
import { SourceView } from './source.js';
import { CodeView } from './code.js';
import { why } from './why.js';
import { graph } from './graph.js';
import { print } from './print.js';

const KEYS = [
  ['/', 'find a value (v17), a variable, a register (rax), a line (:42), a block (b3), or text of an instruction'],
  ['n, N', 'the next thing found, the one before'],
  ['↑ ↓ PgUp PgDn Home End', 'in the code: another row'],
  ['← →', 'in the code: another value of the row'],
  ['Enter', 'in the code: go to the explanation'],
  ['w, g', 'show why, show the graph'],
  ['Esc', 'select nothing'],
  ['?', 'these keys'],
];

const model = new Model(JSON.parse(document.getElementById('data').textContent));
const state = { selection: {}, tab: 'why', found: [], at: -1 };

function select(selection, { scroll = true, address = true } = {}) {
  const row = selection.row ?? (selection.block !== undefined ? model.blocks[selection.block].rows[0] : undefined);
  state.selection = { ...selection, row: selection.block === undefined ? row : undefined };
  code.show(state.selection, scroll);
  const place = selection.line ?? (row === undefined ? null : model.placeOf(row));
  source.show(place, !selection.line);
  side();
  if (address) history.replaceState(null, '', hash());
}

function hash() {
  const { row, value, block, line } = state.selection;
  if (line) return `#line=${line[1]}`;
  const parts = [value !== undefined && `value=${model.values[value].name}`, row !== undefined && `row=${row}`, block !== undefined && `block=${model.blocks[block].name}`];
  return `#${parts.filter(Boolean).join('&')}`;
}

/** Selects what the address names. */
function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const value = model.values.findIndex((value) => value.name === wanted.get('value'));
  const line = wanted.get('line');
  const block = model.blockByName.get(wanted.get('block') ?? '');
  const selection = {};
  if (value >= 0) Object.assign(selection, { value, row: model.values[value].defined[0] ?? model.values[value].pieces[0]?.rows[0] });
  const ofLine = line ? model.lineOf(Number(line)) : null;
  if (ofLine) Object.assign(selection, ofLine);
  if (block !== undefined) selection.block = block;
  const row = Number(wanted.get('row') ?? NaN);
  if (Number.isInteger(row) && row >= 0 && row < model.rows.length) selection.row = row;
  select(selection, { address: false });
}

function side() {
  if (state.tab === 'why') why(model, state.selection, select);
  else {
    const { block, row } = state.selection;
    graph(model, block ?? (row === undefined ? 0 : model.blockOf[row]), select);
  }
}

function show(tab) {
  state.tab = tab;
  for (const name of ['why', 'graph']) {
    document.getElementById(name).hidden = name !== tab;
    const button = document.getElementById(`tab-${name}`);
    button.setAttribute('aria-selected', String(name === tab));
    button.tabIndex = name === tab ? 0 : -1;
  }
  side();
}

function search(text) {
  state.found = model.find(text);
  state.at = -1;
  next(1);
  if (!text.trim()) document.getElementById('found').textContent = '';
}

function next(by) {
  const output = document.getElementById('found');
  if (!state.found.length) { output.textContent = 'nothing found'; return; }
  state.at = (state.at + by + state.found.length) % state.found.length;
  const found = state.found[state.at];
  output.textContent = `${state.at + 1} of ${state.found.length}${found.value === undefined ? '' : `: ${named(model.values[found.value])}`}`;
  select(found);
}

function theme() {
  const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  const button = document.getElementById('theme');
  const current = () => document.documentElement.dataset.theme ?? (dark ? 'dark' : 'light');
  const label = () => { button.textContent = current() === 'dark' ? 'Light' : 'Dark'; };
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = current() === 'dark' ? 'light' : 'dark';
    label();
    code.draw();
  });
  label();
}

function help() {
  const dialog = document.getElementById('keys');
  const row = ([keys, what]) => element('tr', {}, element('th', { scope: 'row' }, element('kbd', {}, keys)), element('td', {}, what));
  dialog.append(element('h2', { id: 'keys-title' }, 'Keys'), element('table', {}, element('tbody', {}, KEYS.map(row))),
    element('form', { method: 'dialog' }, element('button', {}, 'Close')));
  document.getElementById('help').addEventListener('click', () => dialog.showModal());
}

function keys() {
  document.addEventListener('keydown', (event) => {
    const isTyping = ['INPUT', 'SELECT', 'TEXTAREA'].includes(event.target.tagName);
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isTyping) {
      if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') code.rows.focus();
      return;
    }
    const actions = {
      '/': () => document.getElementById('search').focus(),
      '?': () => document.getElementById('keys').showModal(),
      n: () => next(1), N: () => next(-1), w: () => show('why'), g: () => show('graph'),
      Escape: () => select({}),
    };
    if (event.key in actions) { event.preventDefault(); actions[event.key](); }
  });
  for (const [tab, other] of [['why', 'graph'], ['graph', 'why']]) {
    const button = document.getElementById(`tab-${tab}`);
    button.addEventListener('click', () => show(tab));
    button.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') { show(other); document.getElementById(`tab-${other}`).focus(); }
    });
  }
  const input = document.getElementById('search');
  input.addEventListener('input', () => search(input.value));
}

const { data, allocation } = model;
const registers = allocation.registers ? allocation.registers.join(' ') : 'all registers';
document.getElementById('title').textContent = data.function;
document.getElementById('subtitle').textContent =
  `${data.module}${data.place ? `, ${data.place.file}:${data.place.line}` : ''}; ${data.target}; ${allocation.allocator}, ${registers}`;
verdict(model, select);
differences(model, select);
const source = new SourceView(model, select);
const code = new CodeView(model, select);
theme();
help();
keys();
follow();
window.addEventListener('hashchange', follow);
window.addEventListener('beforeprint', () => print(model));
document.documentElement.dataset.ready = 'true';
