// Bundles the page into one file, which chordal contains: src/explain/page.html.
import { build } from 'esbuild';
import { readFileSync, writeFileSync } from 'node:fs';

const here = (path) => new URL(path, import.meta.url);
const bundle = async (entry, loader) => {
  const { outputFiles } = await build({
    entryPoints: [here(entry).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    legalComments: 'none',
    charset: 'ascii',
    loader,
  });
  return outputFiles[0].text.trim();
};

const script = (await bundle('src/main.js')).replaceAll('</script', '<\\/script');
const style = await bundle('src/style.css');
const page = readFileSync(here('src/page.html'), 'utf8')
  .replace('/* style */', () => style)
  .replace('/* script */', () => script);
const target = process.argv[2] ?? here('../src/explain/page.html').pathname;
writeFileSync(target, page);
