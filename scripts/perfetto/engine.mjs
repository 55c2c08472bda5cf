#!/usr/bin/env node
// Runs SQL on a trace in the real Perfetto engine (trace_processor, WebAssembly).
//
//   node engine.mjs TRACE 'select ...' ['select ...' ...]
//     -> { "queries": [ [ {column: value, ...}, ... ], ... ] }
//   node engine.mjs TRACE --check ['select ...' ...]
//     -> the same, and "check": { "problems": [...], "slices": n, ... }; problems make it exit with 1
//   node engine.mjs --serve
//     -> reads lines { "trace": file, "queries": [sql, ...] }, and answers each with a line of the form
//        above, or { "error": text }: a test suite pays for compiling the engine once
//
// The engine is searched for in $ANRSCOPE_PERFETTO, else in target/test-data/perfetto/web_dist of this
// repository; scripts/perfetto/install installs it there. Numbers are written in full, 64 bits wide.
// Exit status: 0 done, 1 the trace, the SQL or the check is bad, 2 usage or no engine.

import * as fs from 'node:fs';
import * as path from 'node:path';
import * as readline from 'node:readline';
import * as url from 'node:url';

const PIECE = 8 << 20; // the engine's own request buffer holds 32 MiB
const Method = {append: 1, finalize: 2, query: 3};

class NoEngine extends Error {}

function engineDirectory() {
  const here = path.dirname(url.fileURLToPath(import.meta.url));
  const root = process.env.ANRSCOPE_PERFETTO
    || path.join(here, '..', '..', 'target', 'test-data', 'perfetto', 'web_dist');
  const versions = fs.existsSync(root) ? fs.readdirSync(root).sort() : [];
  for (const directory of ['.', ...versions].map((name) => path.join(root, name))) {
    if (fs.existsSync(path.join(directory, 'trace_processor.wasm'))) return directory;
  }
  throw new NoEngine(`no Perfetto engine in ${root}: run scripts/test (or scripts/perfetto/install)`);
}

// ---- protobuf, as much of it as the engine's remote calls need -----------------------------------

class Encoder {
  #parts = [];
  varint(value) {
    const bytes = [];
    let rest = BigInt(value);
    do {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      bytes.push(rest > 0n ? low | 0x80 : low);
    } while (rest > 0n);
    this.#parts.push(Buffer.from(bytes));
    return this;
  }
  number(field, value) {
    return this.varint(field << 3).varint(value);
  }
  bytes(field, value) {
    this.varint(field << 3 | 2).varint(value.length);
    this.#parts.push(value);
    return this;
  }
  done() {
    return Buffer.concat(this.#parts);
  }
}

class Decoder {
  constructor(buffer, at = 0, end = buffer.length) {
    Object.assign(this, {buffer, at, end});
  }
  get more() {
    return this.at < this.end;
  }
  /** A varint as a number if that is exact, else as a signed 64-bit BigInt. */
  varint() {
    let low = 0;
    for (let scale = 1; scale <= 2 ** 42; scale *= 128) {
      const byte = this.buffer[this.at++];
      if (byte < 0x80) return low + byte * scale;
      low += (byte & 0x7f) * scale;
    }
    let wide = BigInt(low);
    for (let shift = 49n; ; shift += 7n) {
      const byte = this.buffer[this.at++];
      wide |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const signed = BigInt.asIntN(64, wide);
    return Number.isSafeInteger(Number(signed)) ? Number(signed) : signed;
  }
  slice(length) {
    const from = this.at;
    this.at += length;
    if (this.at > this.end) throw new Error('the engine\'s answer is cut');
    return this.buffer.subarray(from, this.at);
  }
  /** Calls back with each field's number and value: number, BigInt, or Buffer. */
  fields(visit) {
    while (this.more) {
      const tag = this.varint();
      const wire = tag & 7;
      const value = wire === 0 ? this.varint()
        : wire === 2 ? this.slice(this.varint())
        : wire === 1 ? this.slice(8) : this.slice(4);
      visit(tag >>> 3, value);
    }
  }
}

const fieldsOf = (buffer, visit) => new Decoder(buffer).fields(visit);
const utf8 = (bytes) => Buffer.from(bytes).toString('utf8');

// ---- the engine ----------------------------------------------------------------------------------

/** Compiled code, by its length: the engine is 11 MB, and every start requests it again. */
const compiled = new Map();

/** The engine's bundle expects to run in a worker of a browser; this provides as much of one as it needs. */
function startBundle(directory, onBytes) {
  const read = (name) => fs.readFileSync(path.join(directory, path.basename(name)));
  class Request {
    open(_verb, name) { this.name = name; }
    send() {
      const file = read(this.name);
      this.response = file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength);
    }
  }
  // The bundle probes for 64-bit memory with a tiny module. Node may pass the probe and then refuse the
  // real module, so the probe (a memory section whose limits have the 64-bit flag) fails here.
  class Module extends WebAssembly.Module {
    constructor(code) {
      const head = Buffer.from(code.buffer ?? code, code.byteOffset ?? 0, Math.min(code.byteLength, 64));
      if (code.byteLength < 64 && head[8] === 5 && (head[11] & 4) !== 0) throw new Error('32 bits only');
      const known = code.byteLength > 1 << 20 ? compiled.get(code.byteLength) : undefined;
      if (known) return known;
      super(code);
      if (code.byteLength > 1 << 20) compiled.set(code.byteLength, this);
    }
  }
  const scope = {location: {href: 'http://localhost/'}};
  const quiet = () => {};
  const globals = {
    self: scope,
    WorkerGlobalScope: Object,
    XMLHttpRequest: Request,
    process: undefined, // or it would take Node for an unknown platform
    WebAssembly: Object.assign(Object.create(WebAssembly), {Module}),
    console: {log: quiet, info: quiet, debug: quiet, warn: quiet, error: quiet},
  };
  const code = read('engine_bundle.js').toString();
  Reflect.construct(Function, [...Object.keys(globals), code])(...Object.values(globals));
  const port = {postMessage: onBytes};
  scope.onmessage({data: port});
  return port;
}

export class Engine {
  #port;
  #sent = 0;
  #answers = [];
  #rest = Buffer.alloc(0);

  static async start() {
    const engine = new Engine();
    engine.#port = startBundle(engineDirectory(), (bytes) => engine.#receive(bytes));
    await new Promise((resolve) => setImmediate(resolve)); // WebAssembly is ready after this
    return engine;
  }

  /** Bytes from the engine: a stream of { 0A length answer }, cut anywhere. */
  #receive(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const decoder = new Decoder(this.#rest);
      const complete = this.#rest.subarray(1, 11).some((byte) => byte < 0x80);
      if (!complete) return;
      decoder.at = 1;
      const length = decoder.varint();
      if (decoder.at + length > this.#rest.length) return;
      this.#answers.push(decoder.slice(length));
      this.#rest = this.#rest.subarray(decoder.at);
    }
  }

  /** Calls a method; the engine answers before it returns. Yields the answers' payloads. */
  #call(method, argument, payload) {
    const message = new Encoder().number(1, this.#sent++).number(2, method);
    if (payload) message.bytes(argument, payload);
    this.#answers = [];
    this.#port.onmessage({data: new Uint8Array(new Encoder().bytes(1, message.done()).done())});
    const payloads = [];
    for (const answer of this.#answers) {
      fieldsOf(answer, (field, value) => {
        if (field === 5) throw new Error(`the engine gave up: ${utf8(value)}`);
        if (field >= 200) payloads.push(value);
      });
    }
    return payloads;
  }

  load(file) {
    const descriptor = fs.openSync(file, 'r');
    const piece = Buffer.allocUnsafe(PIECE);
    const fail = (text) => { if (text.length) throw new Error(`not loaded: ${utf8(text)}`); };
    try {
      for (let n; (n = fs.readSync(descriptor, piece)) > 0;) {
        for (const result of this.#call(Method.append, 101, piece.subarray(0, n))) {
          fieldsOf(result, (field, value) => { if (field === 2) fail(value); });
        }
      }
    } finally {
      fs.closeSync(descriptor);
    }
    for (const result of this.#call(Method.finalize)) {
      fieldsOf(result, (field, value) => { if (field === 1) fail(value); });
    }
  }

  /** The rows of a query, as objects. */
  query(sql) {
    const columns = [];
    const cells = [];
    let error = '';
    for (const result of this.#call(Method.query, 103, new Encoder().bytes(1, Buffer.from(sql)).done())) {
      fieldsOf(result, (field, value) => {
        if (field === 1) columns.push(utf8(value));
        else if (field === 2) error = utf8(value);
        else if (field === 3) readBatch(value, cells);
      });
    }
    if (error) throw new Error(error);
    const rows = [];
    for (let i = 0; i < cells.length; i += columns.length) {
      rows.push(Object.fromEntries(columns.map((name, j) => [name, cells[i + j]])));
    }
    return rows;
  }
}

/** A batch holds the kinds of its cells, and the values of each kind in a list of their own. */
function readBatch(batch, out) {
  let kinds = [];
  let strings = [];
  const integers = [];
  const doubles = [];
  const blobs = [];
  fieldsOf(batch, (field, value) => {
    if (field === 1) kinds = value;
    if (field === 2) for (const d = new Decoder(value); d.more;) integers.push(d.varint());
    if (field === 3) for (let at = 0; at < value.length; at += 8) doubles.push(value.readDoubleLE(at));
    if (field === 4) blobs.push(value.toString('hex'));
    if (field === 5) strings = utf8(value).split('\0');
  });
  const next = [undefined, () => null, shifter(integers), shifter(doubles), shifter(strings), shifter(blobs)];
  for (const kind of kinds) out.push(next[kind]());
}

function shifter(list) {
  let at = 0;
  return () => list[at++];
}

// ---- the check -----------------------------------------------------------------------------------

// Statistics of a mere "info" severity that nevertheless mean lost data.
const LOSSES = ['track_event_parser_errors', 'track_event_tokenizer_errors',
  'interned_data_tokenizer_errors', 'tokenizer_skipped_packets', 'frame_timeline_event_parser_errors',
  'frame_timeline_unpaired_end_event', 'flow_step_without_start', 'flow_end_without_start',
  'track_hierarchy_missing_uuid', 'packet_skipped_seq_needs_incremental_state_invalid',
  'interned_data_skipped_incremental_state_invalid'];

const PROBLEMS = `
  select name, value from stats
    where value > 0 and (severity in ('error', 'data_loss') or name in ('${LOSSES.join("','")}'))
  union all select * from (select 'slice without a name' name, count() value from slice where name is null)
    where value > 0
  union all select * from (select 'slice that never ends' name, count() value from slice where dur < 0)
    where value > 0`;

const COUNTS = `select (select count() from slice) slices, (select count() from slice where dur > 0) with_length,
  (select count() from thread where tid != 0) threads, (select count() from process where pid != 0) processes,
  (select count() from counter) counters, (select max(depth) from slice) max_depth`;

/** Bytes after the last complete packet: the engine ignores them silently. */
function cutBytes(file) {
  const descriptor = fs.openSync(file, 'r');
  try {
    const size = fs.fstatSync(descriptor).size;
    const head = Buffer.alloc(11);
    let at = 0;
    while (at < size) {
      const n = fs.readSync(descriptor, head, 0, head.length, at);
      if (head[0] !== 0x0a) return at === 0 ? 0 : size - at; // JSON, where the engine itself complains
      if (!head.subarray(1, n).some((byte) => byte < 0x80)) break;
      const decoder = new Decoder(head, 1);
      const end = decoder.varint() + decoder.at + at;
      if (end > size) break;
      at = end;
    }
    return size - at;
  } finally {
    fs.closeSync(descriptor);
  }
}

export function check(engine, file) {
  const problems = engine.query(PROBLEMS);
  const cut = cutBytes(file);
  if (cut > 0) problems.push({name: 'bytes behind the last whole packet', value: cut});
  return {problems, ...engine.query(COUNTS)[0]};
}

// ---- the program ---------------------------------------------------------------------------------

/** JSON in which a BigInt has all of its digits. */
export function toJson(value) {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isFinite(value)) return 'null';
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    return `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${toJson(v)}`).join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

async function ask(file, checks, queries) {
  const engine = await Engine.start();
  engine.load(file);
  const answer = checks ? {check: check(engine, file)} : {};
  answer.queries = queries.map((sql) => engine.query(sql));
  return answer;
}

async function serve() {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const {trace, queries} = JSON.parse(line);
    let answer;
    try {
      answer = await ask(trace, true, queries);
    } catch (error) {
      answer = {error: message(error)};
    }
    print(toJson(answer));
  }
  return 0;
}

/** Writes a complete line to standard output: a pipe may accept less than that at once, or be busy. */
function print(line) {
  const bytes = Buffer.from(line + '\n');
  for (let done = 0; done < bytes.length;) {
    try {
      done += fs.writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

/** Truncated, since an error inside of the bundle shows its source, which is one line of 150 kB. */
function message(error) {
  return String(error?.message ?? error).slice(0, 2000);
}

async function main(words) {
  if (words.length === 1 && words[0] === '--serve') return serve();
  const checks = words.includes('--check');
  const [file, ...queries] = words.filter((word) => word !== '--check');
  if (file === undefined || file.startsWith('-') || (queries.length === 0 && !checks)) {
    console.error("usage: engine.mjs TRACE [--check] ['SQL' ...] | --serve");
    return 2;
  }
  const answer = await ask(file, checks, queries);
  print(toJson(answer));
  return checks && answer.check.problems.length > 0 ? 1 : 0;
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fs.realpathSync(url.fileURLToPath(import.meta.url))) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(message(error));
    process.exitCode = error instanceof NoEngine ? 2 : 1;
  }
}
