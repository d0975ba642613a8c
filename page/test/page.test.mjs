// The page in a browser: what is selected where, keys, themes, print, accessibility, time.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { explained, large } from './inputs.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
let browser;

before(async () => {
  browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
});
after(() => browser?.close());

/** Opens a page on which nothing may go wrong, and which may fetch nothing. */
async function open(path, { hash = '', dark = false, width = 1440 } = {}) {
  const page = await browser.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => { if (message.type() === 'error') faults.push(message.text()); });
  page.on('request', (request) => { if (!request.url().startsWith('file:')) faults.push(`fetches ${request.url()}`); });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
  await page.goto(`file://${path}${hash}`);
  await page.waitForSelector('html[data-ready]');
  page.faults = faults;
  return page;
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
const close = async (page) => {
  assert.deepEqual(page.faults, []);
  await page.close();
};

test('the committed page is what the sources give', () => {
  const made = join(mkdtempSync(join(tmpdir(), 'chordal-page-')), 'page.html');
  execFileSync('node', [here('../build.mjs'), made]);
  assert.ok(readFileSync(made).equals(readFileSync(here('../../src/explain/page.html'))), 'run `make page`');
});

test('a stranger finds why the hottest loop reloads, and what would avoid it', async () => {
  const page = await open(explained('ints'));
  assert.match(await text(page, '#verdict'), /reloads.*stores.*in all/s);
  await page.click('#verdict ol button');
  const why = await text(page, '#why');
  assert.match(why, /values meet, for \d+ general registers/);
  assert.match(why, /being in memory costs it/);
  assert.match(why, /Who competes at row \d+/);
  assert.match(why, /What would avoid it.*With one more general register in the loop at b\d+.*would cost .* less/s);
  assert.match(await page.$eval('#code .selected', (row) => row.getAttribute('aria-label')), /reload of v\d+.*too many/);
  assert.equal(await page.$$eval('#source .selected', (lines) => lines.length), 1);
  await close(page);
});

test('keys select rows and values, and reach everything', async () => {
  const page = await open(explained('ints'));
  await page.focus('#code [role="grid"]');
  for (let time = 0; time < 9; time++) await page.keyboard.press('ArrowDown');
  const first = await page.$eval('#code .selected', (row) => row.id);
  await page.keyboard.press('PageDown');
  const later = await page.$eval('#code .selected', (row) => row.id);
  assert.ok(Number(later.slice(4)) > Number(first.slice(4)) + 5, `${first}, ${later}`);
  assert.equal(await page.$eval('#code [role="grid"]', (grid) => grid.getAttribute('aria-activedescendant')), later);
  await page.keyboard.press('Home');
  assert.equal(await page.$eval('#code .selected', (row) => row.id), 'row-0');
  await page.keyboard.press('PageDown');
  await page.keyboard.press('ArrowRight');
  assert.match(await text(page, '#why h3'), /^v\d+/);
  await page.keyboard.press('g');
  assert.ok(await page.$('#graph svg .node.selected'));
  await page.keyboard.press('/');
  await page.keyboard.type('v12');
  assert.match(await text(page, '#found'), /^1 of \d+: v\d+/);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  assert.ok(await page.$eval('#keys', (dialog) => dialog.open));
  await page.keyboard.press('Escape');
  await close(page);
});

test('values, variables, registers, lines, blocks and instructions are found', async () => {
  const page = await open(explained('ints'));
  for (const wanted of ['v54', 'v12', 'rax', ':18', 'b1', 'rolq']) {
    await page.$eval('#search', (input, wanted) => { input.value = wanted; input.dispatchEvent(new Event('input')); }, wanted);
    assert.match(await text(page, '#found'), /^1 of /, wanted);
    assert.ok(await page.$('#code .selected'), wanted);
  }
  await page.$eval('#search', (input) => { input.value = 'nothing like this'; input.dispatchEvent(new Event('input')); });
  assert.equal(await text(page, '#found'), 'nothing found');
  await close(page);
});

test('an address names what is selected', async () => {
  const path = explained('ints');
  const page = await open(path, { hash: '#value=v54' });
  assert.match(await text(page, '#why h3'), /^v54/);
  await page.click('#verdict ol button');
  const address = await page.evaluate(() => location.hash);
  assert.match(address, /^#value=v\d+&row=\d+$/);
  const line = await open(path, { hash: '#line=18' });
  assert.ok((await line.$$('#code .related')).length > 1);
  await close(line);
  await close(await open(path, { hash: '#row=1.5' }));
  const again = await open(path, { hash: address });
  assert.equal(await text(again, '#why'), await text(page, '#why'));
  await close(page);
  await close(again);
});

test('a live range is selected where it is drawn', async () => {
  const page = await open(explained('ints'), { hash: '#row=213' });
  await page.$eval('#work', (work) => work.scrollIntoView());
  const box = await (await page.$('#code canvas')).boundingBox();
  const grid = await (await page.$('#code [role="grid"]')).boundingBox();
  await page.mouse.click(box.x + 24, grid.y + grid.height / 2);
  assert.match(await text(page, '#why h3'), /^v\d+/);
  await close(page);
});

test('both themes are readable, and the switch works', async () => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const path = explained('doubles');
  const [light, dark] = [await open(path), await open(path, { dark: true })];
  const colours = [await background(light), await background(dark)];
  assert.notEqual(colours[0], colours[1]);
  await light.bringToFront();
  await light.click('#theme');
  assert.equal(await background(light), colours[1]);
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  for (const page of [dark, light]) {
    await page.bringToFront();
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run({ rules: { 'scrollable-region-focusable': { enabled: false } } }));
    assert.deepEqual(violations.map((it) => `${it.id}: ${it.nodes[0].html}`), []);
    await close(page);
  }
});

test('a function without spills says so', async () => {
  const page = await open(explained('leaf'), { width: 800 });
  assert.match(await text(page, '#why'), /Values that cost most|Nothing is spilled/);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
  assert.equal(overflow, false);
  await close(page);
});

test('differences come with both codes', async () => {
  const page = await open(explained('across_calls', '--against', 'linear-scan'));
  assert.equal(await page.$eval('#differences', (section) => section.hidden), false);
  await page.click('#differences details summary');
  await page.waitForSelector('#differences pre');
  assert.equal(await page.$$eval('#differences details[open] pre', (codes) => codes.length), 2);
  await close(page);
});

test('an allocator that is no part of chordal has code and costs', async () => {
  const page = await open(explained('across_calls', '--allocator', 'llvm-greedy', '--against', 'none'));
  assert.match(await text(page, '#why'), /no part of chordal/);
  assert.ok((await page.$$('#code [role="row"]')).length > 10);
  await close(page);
});

test('it prints code and values', async () => {
  const page = await open(explained('divisions'));
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.emulateMediaType('print');
  assert.ok(await page.$eval('#print', (section) => section.offsetHeight > 200 && section.querySelectorAll('tr').length > 40));
  assert.equal(await page.$eval('#work', (work) => getComputedStyle(work).display), 'none');
  await close(page);
});

test('ten thousand instructions open quickly', async () => {
  const path = large(10000, 3000);
  const start = Date.now();
  const page = await open(path);
  const took = Date.now() - start;
  console.log(`10,000 rows and 3,000 values: ${took} ms`);
  assert.ok(took < 5000, `${took} ms`);
  assert.ok((await page.$$('#code [role="row"]')).length < 200);
  await page.$eval('#code .rows', (rows) => { rows.scrollTop = rows.scrollHeight; });
  await page.waitForSelector('#row-9999');
  await close(page);
});
