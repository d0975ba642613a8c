// Explanations to open: real ones, by chordal itself, and a large one that is made up.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const chordal = resolve(process.env.CHORDAL ?? join(root, 'target/release/chordal'));
const folder = mkdtempSync(join(tmpdir(), 'chordal-page-'));
const module = join(folder, 'pressure.bc');

/** The page of a function of `pressure.c`, as a path. */
export function explained(name, ...options) {
  execFileSync('clang-22', ['-O2', '-g', '-emit-llvm', '-c', join(root, 'testdata/programs/pressure.c'), '-o', module]);
  const page = join(folder, `${name}.html`);
  execFileSync(chordal, ['explain', module, '--function', name, '-o', page, ...options]);
  return page;
}

/** A page with this many rows and values, of which half are in memory for a while. */
export function large(rows, values) {
  const registers = Array.from({ length: 15 }, (_, index) => `r${index}`);
  const count = 200;
  const blocks = Array.from({ length: rows / count }, (_, index) => ({
    name: `b${index}`, frequency: 1 + (index % 7), depth: index % 3, succs: [`b${(index + 1) % (rows / count)}`],
    rows: [index * count, (index + 1) * count], cost: 4,
  }));
  const made = Array.from({ length: values }, (_, index) => {
    const start = (index * 37) % (rows - 400);
    const pieces = [{ rows: [start, start + 100], registers: [registers[index % 15]] }];
    if (index % 2) pieces.push({ rows: [start + 100, start + 300], registers: [], slot: `s${index}` });
    return { name: `v${index}`, web: index, class: 'gr64', bank: 0, pieces, defined: [start], read: [start + 50], cost: index % 2 ? 5 : 0, rent: 7, why: index % 2 ? 'It is made up.' : undefined };
  });
  const allocation = {
    allocator: 'tuned', options: null, registers: null, rule: 'The rule.', blocks, edges: [], prices: [], counterfactuals: [], values: made,
    verdict: { overhead: 5, parts: { reloads: 4, stores: 1, saves: 0, restores: 0, copies: 0, exchanges: 0, remats: 0, other: 0 }, share: 0.1, dearest: [150] },
    rows: Array.from({ length: rows }, (_, index) => (index % 50 === 0 ? { text: `movq ${index}(%rsp), %rax`, part: 'reload', cost: 4, values: [index % values] } : { text: `addq $${index}, %rax` })),
    banks: [{ name: 'general', registers, live: Array.from({ length: rows }, (_, index) => index % 20), supply: Array(rows).fill(15) }],
  };
  const data = { schema: 'chordal-explain/1', chordal: '0', module: 'm', function: 'large', target: 't', sources: [], allocation };
  const page = join(folder, 'large.html');
  const asset = readFileSync(join(root, 'src/explain/page.html'), 'utf8');
  writeFileSync(page, asset.replace('<!-- data -->', () => JSON.stringify(data)));
  return page;
}
