// Shows a recording in the real Perfetto UI in a headless Chromium, by the address that `anrscope open` prints.
//
//   node scripts/device/page.mjs ANRSCOPE RECORDING WEB_DIST SCREENSHOT
//
// The UI is served from WEB_DIST under its own name, https://ui.perfetto.dev, which the browser is told to find on this
// machine; the certificate is made up. Needs openssl and chromium. Exit status: 0 as it should be, 1 not.
import {spawn, execFileSync} from 'node:child_process';
import {createServer} from 'node:https';
import {existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {extname, join, normalize} from 'node:path';

const [anrscope, recording, dist, screenshot] = process.argv.slice(2);
const LIMIT_MS = 120_000;
const scratch = mkdtempSync(join(tmpdir(), 'anrscope-page-'));
const children = [];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function fail(message) {
  throw new Error(message);
}

/** The UI on a port of this machine. */
async function serveUi() {
  const [key, cert] = [join(scratch, 'key.pem'), join(scratch, 'cert.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert,
    '-subj', '/CN=ui.perfetto.dev'], {stdio: 'ignore'});
  const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm',
    '.json': 'application/json', '.png': 'image/png', '.svg': 'image/svg+xml', '.woff2': 'font/woff2'};
  const server = createServer({key: readFileSync(key), cert: readFileSync(cert)}, (request, response) => {
    const path = normalize(decodeURIComponent(request.url.split('?')[0]));
    let file = join(dist, path);
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
    if (path.includes('..') || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'Content-Type': types[extname(file)] ?? 'application/octet-stream'});
    response.end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

/** A browser that is spoken to over a pipe: messages end with a zero byte. */
class Browser {
  constructor(port) {
    this.child = spawn('chromium', [
      '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', `--user-data-dir=${scratch}/profile`,
      '--window-size=1600,1000', '--ignore-certificate-errors', '--no-first-run', '--disable-background-networking',
      `--host-resolver-rules=MAP ui.perfetto.dev:443 127.0.0.1:${port}`,
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    children.push(this.child);
    this.next = 1;
    this.waiting = new Map();
    let rest = Buffer.alloc(0);
    this.child.stdio[4].on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        const message = JSON.parse(rest.subarray(0, end).toString());
        rest = rest.subarray(end + 1);
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
      }
    });
  }

  async send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    const answer = new Promise((done) => this.waiting.set(id, done));
    this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    const message = await answer;
    return message.error ? fail(`${method}: ${message.error.message}`) : message.result;
  }
}

async function main() {
  const server = await serveUi();
  const program = spawn(anrscope, ['open', recording, '--anr', '--print-url', '--wait', '120'],
    {stdio: ['ignore', 'pipe', 'inherit']});
  children.push(program);
  const ended = new Promise((done) => program.on('exit', done));
  const url = await new Promise((done, failed) => {
    let text = '';
    program.stdout.on('data', (bytes) => {
      text += bytes;
      if (text.includes('\n')) done(text.trim());
    });
    ended.then((code) => failed(new Error(`anrscope open ended with ${code}`)));
  });

  const browser = new Browser(server.address().port);
  const {targetId} = await browser.send('Target.createTarget', {url: 'about:blank'});
  const {sessionId} = await browser.send('Target.attachToTarget', {targetId, flatten: true});
  const send = (method, params) => browser.send(method, params, sessionId);
  await send('Page.enable');
  await send('Page.navigate', {url});
  const code = await ended;
  if (code !== 0) fail(`anrscope open ended with ${code}`);

  const text = async () => {
    const {result} = await send('Runtime.evaluate', {expression: 'document.body.innerText', returnByValue: true});
    return String(result.value);
  };
  const pinned = async () => {
    const expression = `[...document.querySelectorAll('.pf-viewer-page__pinned-track-tree')]` +
      `.map((e) => e.innerText).join('\\n')`;
    const {result} = await send('Runtime.evaluate', {expression, returnByValue: true});
    return String(result.value);
  };
  const end = Date.now() + LIMIT_MS;
  const holds = async (what, test) => {
    while (!(await test())) {
      if (Date.now() > end) {
        const shot = await send('Page.captureScreenshot', {format: 'png'});
        writeFileSync(screenshot, Buffer.from(shot.data, 'base64'));
        fail(`the page never showed ${what}; it is in ${screenshot}\npinned: ${await pinned()}\n${await text()}`);
      }
      await sleep(250);
    }
    console.log(`page: ${what}`);
  };
  await holds('the pinned main thread', async () => /main/.test(await pinned()));
  await holds('a tab with the message that hung', async () => /PayTask/.test(await text()));
  await holds('that message selected and in view', async () => {
    // The page's own objects: what is selected is drawn on a canvas.
    const expression = `(() => {
      const {selection: {selection}, timeline: {visibleWindow}} = window.app.trace;
      const [from, to] = [visibleWindow.start.integral, visibleWindow.start.integral + BigInt(Math.ceil(visibleWindow.duration))];
      return /PayTask/.test(selection.name) && from <= selection.ts && selection.ts < to;
    })()`;
    return (await send('Runtime.evaluate', {expression, returnByValue: true})).result.value === true;
  });
  const shot = await send('Page.captureScreenshot', {format: 'png'});
  writeFileSync(screenshot, Buffer.from(shot.data, 'base64'));
  console.log(`page: ${screenshot}`);
  server.close();
}

let status = 0;
try {
  await main();
} catch (error) {
  console.error(`page: ${error.message}`);
  status = 1;
}
for (const child of children) child.kill('SIGKILL');
await sleep(200);
rmSync(scratch, {recursive: true, force: true});
process.exit(status);
