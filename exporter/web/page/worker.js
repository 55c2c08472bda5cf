'use strict';
// Analyses one input in one instance of the module, which it keeps for the trace and the HTML report.
const LIMIT = /*LIMIT*/;
const SLICE = 8 << 20;
let wasm;

// A sentence for the page.
class Refused extends Error {}

const text = () => new TextDecoder().decode(output());
const output = () => new Uint8Array(wasm.memory.buffer, wasm.output(), wasm.output_length() >>> 0);

// Calls a function of the module; its result is at `output`.
function call(name, ...numbers) {
  let failed;
  try {
    failed = wasm[name](...numbers);
  } catch (trap) {
    const why = wasm.output_length() > 0 ? text() : String(trap.message);
    throw new Refused(why.startsWith('panicked') ? 'This is a fault of anrscope, not of your file. Please report it with these words: ' + why :
      'The browser has not enough memory for this file (' + why + '). Use the program anrscope instead.');
  }
  if (failed) throw new Refused(text());
}

// Copies a file into the module, a slice at a time.
function add(file, read) {
  if (file.size > LIMIT) {
    throw new Refused(file.name + ' has ' + (file.size / 1048576).toFixed(0) + ' MiB, and this page reads at most ' + (LIMIT >> 20) +
      ' MiB. Use the program anrscope, or drop the one dump or recording of it that matters.');
  }
  const name = new TextEncoder().encode(file.name);
  const at = wasm.input(file.size + name.length) >>> 0;
  if (at === 0) throw new Refused('The browser has not enough memory for ' + file.name + '. Use the program anrscope instead.');
  const reader = new FileReaderSync();
  for (let from = 0; from < file.size; from += SLICE) {
    let bytes;
    try {
      bytes = reader.readAsArrayBuffer(file.slice(from, from + SLICE));
    } catch (error) {
      throw new Refused('The browser cannot read ' + file.name + '. Drop the files of a directory instead of the directory; if it is a file, it may have been moved.');
    }
    new Uint8Array(wasm.memory.buffer, at + from, bytes.byteLength).set(new Uint8Array(bytes));
    read(from + bytes.byteLength);
  }
  new Uint8Array(wasm.memory.buffer, at + file.size, name.length).set(name);
  call('add', name.length);
  return text();
}

async function analyse({ module, fresh, last }) {
  const bytes = await new Response(new Blob([module]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  wasm = (await WebAssembly.instantiate(bytes, {})).instance.exports;
  const total = () => files.reduce((sum, file) => sum + file.size, 0);
  let files = [...fresh], done = 0, input;
  const names = [];
  const take = (file) => {
    const role = add(file, (bytes) => postMessage({ read: (done + bytes) / Math.max(1, total()) }));
    done += file.size;
    if (role === 'input') input = file;
    else names.push(file);
  };
  fresh.forEach(take);
  // Names that come after their input: it is analysed again.
  if (!input && last) {
    const older = [...last.names.filter((file) => !names.some((other) => other.name === file.name)), last.input];
    files = [...fresh, ...older];
    older.forEach(take);
  }
  postMessage({ read: 1 });
  call('answer');
  postMessage({ answer: JSON.parse(text()), input, names, memory: wasm.memory.buffer.byteLength });
}

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      await analyse(data);
    } else {
      call(data.want);
      const made = output().slice().buffer;
      postMessage({ made, id: data.id }, [made]);
    }
  } catch (error) {
    postMessage({ refused: error instanceof Refused ? error.message : 'The analysis failed: ' + error.message, id: data.id });
  }
};
