// Packs the page, its script, the module and the sample into one file.
//
//   node exporter/web/page/pack.mjs MODULE.wasm SAMPLE.anrscope OUT.html
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {gzipSync} from 'node:zlib';

const [module, sample, out] = process.argv.slice(2);
const here = dirname(new URL(import.meta.url).pathname);
const read = (name) => readFileSync(join(here, name), 'utf8');
const packed = (file) => gzipSync(readFileSync(file), {level: 9}).toString('base64');

const wasm = new WebAssembly.Module(readFileSync(module));
const imports = WebAssembly.Module.imports(wasm);
if (imports.length > 0) throw new Error(`the module imports ${imports.map(({name}) => name).join(', ')}: the page has nothing for it`);

const map = join(dirname(sample), 'methodMapping.txt');
const samples = [sample, map, `${map}.lines`].filter((file) => existsSync(file));
const limit = /MAX_FILE: u64 = 1 << (\d+);/.exec(read('../src/session.rs'));
const parts = {
  STYLE: read('style.css'),
  VERSION: /\nversion = "([^"]+)"/.exec(read('../../../Cargo.toml'))[1],
  MODULE: packed(module),
  SAMPLE: JSON.stringify(samples.map((file) => ({name: basename(file), data: packed(file)}))),
  WORKER: read('worker.js').replace('/*LIMIT*/', String(2 ** Number(limit[1]))),
  SCRIPT: read('page.js'),
};
const page = read('page.html').replace(/\/\*([A-Z]+)\*\//g, (_, name) => parts[name]);
mkdirSync(dirname(out), {recursive: true});
writeFileSync(out, page);
console.log(`${out}: ${page.length} bytes; the module has ${readFileSync(module).length}, ${Math.round(parts.MODULE.length * 3 / 4)} packed`);
