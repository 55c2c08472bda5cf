// Runs the page's module in Node: the CPU time that it takes, which a busy machine hardly changes, and its memory.
//
//   node scripts/browser/module.mjs PAGE.html DROP...        a DROP is one file, or several joined by commas
//
// Prints one JSON document: [{"drop":TEXT,"start_ms":N,"answer_ms":N,"trace_ms":N | null,"memory":N,"trace_memory":N},...]. `start_ms` is the CPU time of unpacking and compiling the
// module, `answer_ms` that from the first byte to the answer, `trace_ms` that of the trace; each the median of five runs.
// `memory` is the module's after the answer, `trace_memory` after the trace.
import {readFileSync} from 'node:fs';
import {basename} from 'node:path';
import {gunzipSync} from 'node:zlib';

const [page, ...drops] = process.argv.slice(2);
const packed = /<script type="text\/plain" id="module">([^<]+)/.exec(readFileSync(page, 'utf8'))[1];
const cpu = () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000;
const median = (list) => Math.round(list.sort((a, b) => a - b)[list.length >> 1]);

async function once(files) {
  const begun = cpu();
  const {instance} = await WebAssembly.instantiate(gunzipSync(Buffer.from(packed, 'base64')), {});
  const started = cpu();
  const module = instance.exports;
  const call = (name, ...numbers) => {
    if (module[name](...numbers)) {
      throw new Error(Buffer.from(module.memory.buffer, module.output(), module.output_length()).toString());
    }
  };
  for (const {name, bytes} of files) {
    const at = module.input(bytes.length + name.length);
    const memory = new Uint8Array(module.memory.buffer);
    memory.set(bytes, at);
    memory.set(name, at + bytes.length);
    call('add', name.length);
  }
  call('answer');
  const answered = cpu();
  const {kind} = JSON.parse(Buffer.from(module.memory.buffer, module.output(), module.output_length()).toString());
  const memory = module.memory.buffer.byteLength;
  if (kind === 'recording') call('trace');
  return {start: started - begun, answer: answered - started, trace: kind === 'recording' ? cpu() - answered : null, memory,
    grown: module.memory.buffer.byteLength};
}

const found = [];
for (const drop of drops) {
  const files = drop.split(',').map((path) => ({name: Buffer.from(basename(path)), bytes: readFileSync(path)}));
  const runs = [];
  for (let run = 0; run < 5; run++) runs.push(await once(files));
  const of = (key) => runs[0][key] === null ? null : median(runs.map((run) => run[key]));
  found.push({drop, start_ms: of('start'), answer_ms: of('answer'), trace_ms: of('trace'), memory: of('memory'), trace_memory: of('grown')});
}
console.log(JSON.stringify(found));
