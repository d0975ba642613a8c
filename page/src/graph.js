// The control-flow graph with its loops, and what each edge moves.
import dagre from '@dagrejs/dagre';
import { create } from 'd3-selection';
import { element, link, table } from './dom.js';
import { cost, named } from './model.js';
import { heatColour } from './colours.js';

/** Larger graphs are shown around the selected block only. */
const MOST = 150;

export function graph(model, selected, select) {
  const panel = document.getElementById('graph');
  const shown = around(model, selected);
  const parts = [];
  if (shown.size < model.blocks.length) parts.push(element('p.faint', {}, `${shown.size} of ${model.blocks.length} blocks, those nearest to ${model.blocks[selected].name}.`));
  parts.push(picture(model, shown, selected, select), ...transfers(model, selected, select));
  panel.replaceChildren(...parts);
}

function around(model, selected) {
  const all = model.blocks.map((_, index) => index);
  if (all.length <= MOST) return new Set(all);
  const near = new Map(all.map((index) => [index, new Set()]));
  model.blocks.forEach((block, index) => block.succs.forEach((name) => {
    const to = model.blockByName.get(name);
    near.get(index).add(to);
    near.get(to).add(index);
  }));
  const found = new Set([selected]);
  for (const index of found) {
    for (const other of near.get(index)) if (found.size < 40) found.add(other);
  }
  return found;
}

function picture(model, shown, selected, select) {
  const layout = new dagre.graphlib.Graph({ multigraph: true }).setGraph({ nodesep: 14, ranksep: 26, marginx: 6, marginy: 6 }).setDefaultEdgeLabel(() => ({}));
  const label = (block) => `${block.name}  ×${cost(block.frequency)}`;
  for (const index of shown) {
    const block = model.blocks[index];
    layout.setNode(String(index), { width: 14 + 7 * Math.max(label(block).length, 9), height: 38 });
  }
  for (const index of shown) for (const name of model.blocks[index].succs) {
    const to = model.blockByName.get(name);
    if (shown.has(to)) layout.setEdge(String(index), String(to), {}, name);
  }
  dagre.layout(layout);
  const { width = 10, height = 10 } = layout.graph();
  const svg = create('svg').attr('width', width).attr('height', height).attr('role', 'group').attr('aria-label', 'Control-flow graph');
  svg.append('defs').append('marker').attr('id', 'arrow').attr('viewBox', '0 0 8 8').attr('refX', 7).attr('refY', 4).attr('markerWidth', 7).attr('markerHeight', 7).attr('orient', 'auto')
    .append('path').attr('d', 'M0,0L8,4L0,8z').attr('fill', 'currentColor');
  for (const edge of layout.edges()) {
    const [from, to] = [model.blocks[edge.v], model.blocks[edge.w]];
    const isBack = to.header === to.name && (from.header === to.name || from.depth >= to.depth) && Number(edge.w) <= Number(edge.v);
    svg.append('path').attr('class', isBack ? 'edge back' : 'edge').attr('marker-end', 'url(#arrow)')
      .attr('d', `M${layout.edge(edge).points.map((point) => `${point.x},${point.y}`).join('L')}`);
  }
  for (const name of layout.nodes()) {
    const index = Number(name);
    const block = model.blocks[index];
    const { x, y, width: wide, height: high } = layout.node(name);
    const said = `${block.name}, executed ${cost(block.frequency)} times, loop depth ${block.depth}, allocation costs ${cost(block.cost)}`;
    const node = svg.append('g').attr('class', index === selected ? 'node selected' : 'node').attr('role', 'button').attr('tabindex', 0).attr('aria-label', said)
      .on('click', () => select({ block: index }))
      .on('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); select({ block: index }); } });
    node.append('title').text(said);
    node.append('rect').attr('x', x - wide / 2).attr('y', y - high / 2).attr('width', wide).attr('height', high).attr('rx', 5).attr('fill', heatColour(model.heat(block.frequency)));
    for (let depth = 0; depth < Math.min(block.depth, 6); depth++) {
      node.append('rect').attr('x', x - wide / 2 + 3 + 4 * depth).attr('y', y + high / 2 - 6).attr('width', 3).attr('height', 4).attr('fill', '#14171b');
    }
    node.append('text').attr('x', x).attr('y', y - 4).attr('text-anchor', 'middle').text(label(block));
    node.append('text').attr('x', x).attr('y', y + 11).attr('text-anchor', 'middle').text(block.cost ? `costs ${cost(block.cost)}` : '');
  }
  return svg.node();
}

/** The location transfer graphs of the edges at a block. */
function transfers(model, selected, select) {
  const { name } = model.blocks[selected];
  const edges = model.allocation.edges.filter((edge) => edge.from === name || edge.to === name);
  if (!model.values.length) return [];
  if (!edges.length) return [element('p.faint', {}, `No edge at ${name} moves anything. Marks at the foot of a block are the loops around it; dashed edges go back.`)];
  return edges.flatMap((edge) => {
    const row = (it) => {
      const value = model.values[it.value];
      const into = it.value === it.into ? '' : ` → ${named(model.values[it.into])}`;
      return [link(`${named(value)}${into}`, () => select({ value: it.into, row: model.values[it.into].pieces[0]?.rows[0] })), `${it.from} → ${it.to}`];
    };
    return [element('h3', {}, `The edge ${edge.from} → ${edge.to} moves, ${cost(edge.frequency)} times`), table(['value', 'from → to'], edge.transfers.map(row))];
  });
}
