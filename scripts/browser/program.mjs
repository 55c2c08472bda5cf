// `anrscope open`, while it waits for the page to fetch the trace.
import {spawn} from 'node:child_process';
import {sleep} from './chromium.mjs';

// The page fetches traces from port 9001 only; another program may use it for a while.
const PORT_WAIT_MS = 60_000;

/** The printed address, a promise of the exit, and a function that ends the program. */
export async function opened(anrscope, file, flags = []) {
  for (const end = Date.now() + PORT_WAIT_MS; ; await sleep(500)) {
    const program = spawn(anrscope, ['open', file, ...flags, '--print-url', '--wait', '120'],
      {stdio: ['ignore', 'pipe', 'pipe']});
    let said = '';
    program.stderr.on('data', (bytes) => { said += bytes; });
    const ended = new Promise((done) => program.on('close', (code) => done({code, said})));
    const url = await new Promise((done) => {
      let text = '';
      program.stdout.on('data', (bytes) => {
        text += bytes;
        if (text.includes('\n')) done(text.trim());
      });
      ended.then(() => done(undefined));
    });
    const fetched = async () => {
      const {code, said} = await ended;
      if (code !== 0) throw new Error(`anrscope open ended with ${code}: ${said}`);
    };
    if (url) return {url, fetched, stop: () => program.kill()};
    await ended;
    if (!said.includes('is taken by') || Date.now() > end) await fetched();
  }
}
