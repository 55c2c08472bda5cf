// Drives a headless Chromium over a pipe, and serves the real Perfetto UI under its own name to it.
//
// The program is $CHROMIUM, else `chromium`. The UI is served from a directory on this machine; the browser resolves
// https://ui.perfetto.dev to it, and no other name at all. The certificate is self-signed (needs openssl).
import {execFileSync, spawn} from 'node:child_process';
import {createServer} from 'node:https';
import {existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {extname, join, normalize} from 'node:path';

export const LIMIT_MS = 120_000;
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm',
  '.json': 'application/json', '.png': 'image/png', '.svg': 'image/svg+xml', '.woff2': 'font/woff2'};

/** Waits until `test` returns a true value, and returns it. */
export async function until(what, test) {
  for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(100)) {
    const found = await test();
    if (found) return found;
  }
  throw new Error(`timeout: ${what}`);
}

async function serve(dist, scratch) {
  const [key, cert] = [join(scratch, 'key.pem'), join(scratch, 'cert.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert,
    '-subj', '/CN=ui.perfetto.dev'], {stdio: 'ignore'});
  const server = createServer({key: readFileSync(key), cert: readFileSync(cert)}, (request, response) => {
    const path = normalize(decodeURIComponent(request.url.split('?')[0]));
    let file = join(dist, path);
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
    if (path.includes('..') || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream'});
    response.end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

/** A tab. */
class Page {
  constructor(browser, targetId, sessionId) {
    Object.assign(this, {browser, targetId, sessionId});
    // Errors, and every address that was requested.
    this.errors = [];
    this.requests = [];
  }

  async begin() {
    const on = (method, listener) => this.browser.on(this.sessionId, method, listener);
    on('Runtime.exceptionThrown', ({exceptionDetails: d}) => this.errors.push(d.exception?.description ?? d.text));
    on('Runtime.consoleAPICalled', ({type, args}) => {
      if (['error', 'warning', 'assert'].includes(type)) {
        this.errors.push(`console.${type}: ${args.map((arg) => arg.value ?? arg.description).join(' ')}`);
      }
    });
    on('Log.entryAdded', ({entry}) => {
      if (['error', 'warning'].includes(entry.level)) this.errors.push(`${entry.source}: ${entry.text}`);
    });
    on('Network.requestWillBeSent', ({request}) => this.requests.push(request.url));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(`${domain}.enable`);
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  /** Opens an address and waits until it is loaded. */
  async open(url) {
    this.errors.length = this.requests.length = 0;
    const loaded = new Promise((done) => this.browser.on(this.sessionId, 'Page.loadEventFired', done));
    const {errorText} = await this.send('Page.navigate', {url});
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  /** Evaluates an expression in the page and awaits the result. */
  async value(expression) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate',
      {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  async size(width, height, {scale = 1, mobile = false} = {}) {
    await this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: scale, mobile});
    await this.send('Emulation.setTouchEmulationEnabled', {enabled: mobile});
  }

  theme(word) {
    return this.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: word}]});
  }

  async click(x, y) {
    const at = {x, y, button: 'left', clickCount: 1};
    await this.send('Input.dispatchMouseEvent', {type: 'mousePressed', ...at});
    await this.send('Input.dispatchMouseEvent', {type: 'mouseReleased', ...at});
  }

  async tap(x, y) {
    await this.send('Input.dispatchTouchEvent', {type: 'touchStart', touchPoints: [{x, y}]});
    await this.send('Input.dispatchTouchEvent', {type: 'touchEnd', touchPoints: []});
  }

  async press(key) {
    const codes = {Tab: 9, Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40};
    const known = {key, code: key, windowsVirtualKeyCode: codes[key], text: key === 'Enter' ? '\r' : undefined};
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', ...known});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...known});
  }

  /** A picture of the window, or of the whole page. */
  async picture(file, whole = false) {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png', captureBeyondViewport: whole});
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}

/** A browser that resolves nothing but the Perfetto UI, where `dist` names its directory. */
export class Chromium {
  static async start(dist, size = [1600, 1000]) {
    const browser = new Chromium();
    browser.scratch = mkdtempSync(join(tmpdir(), 'anrscope-browser-'));
    const rules = ['MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1'];
    if (dist) {
      browser.server = await serve(dist, browser.scratch);
      rules.unshift(`MAP ui.perfetto.dev:443 127.0.0.1:${browser.server.address().port}`);
    }
    const program = process.env.CHROMIUM || 'chromium';
    browser.child = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic',
      '--disable-dev-shm-usage', '--remote-debugging-pipe', `--user-data-dir=${browser.scratch}/profile`,
      `--window-size=${size.join(',')}`, '--ignore-certificate-errors', '--no-first-run', '--hide-scrollbars',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-default-apps',
      `--host-resolver-rules=${rules.join(',')}`,
    ], {stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe']});
    await browser.listen(program);
    return browser;
  }

  async listen(program) {
    this.next = 1;
    this.waiting = new Map();
    this.listeners = [];
    let said = '';
    this.child.stderr.on('data', (bytes) => { said = (said + bytes).slice(-4000); });
    this.ended = new Promise((done) => {
      this.child.on('exit', (code, signal) => done(`${program} ended (${signal ?? code}): ${said}`));
      this.child.on('error', (error) => done(`${program} cannot be started (${error.message}): run scripts/test, which installs it`));
    });
    // Pending requests fail when the browser ends.
    this.ended.then((why) => {
      for (const {failed} of this.waiting.values()) failed(new Error(why));
      this.waiting.clear();
      this.gone = why;
    });
    this.child.stdio[3].on('error', () => {});
    let rest = Buffer.alloc(0);
    this.child.stdio[4].on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        const message = JSON.parse(rest.subarray(0, end).toString());
        rest = rest.subarray(end + 1);
        this.heard(message);
      }
    });
    await this.send('Browser.getVersion');
  }

  heard({id, method, params, sessionId, result, error}) {
    if (id === undefined) {
      for (const listener of this.listeners) {
        if (listener.method === method && listener.sessionId === sessionId) listener.handler(params);
      }
      return;
    }
    const {done, failed, method: asked} = this.waiting.get(id) ?? {};
    this.waiting.delete(id);
    if (error) failed?.(new Error(`${asked}: ${error.message}`));
    else done?.(result);
  }

  on(sessionId, method, handler) {
    this.listeners.push({sessionId, method, handler});
  }

  send(method, params = {}, sessionId = undefined) {
    if (this.gone) return Promise.reject(new Error(this.gone));
    const id = this.next++;
    return new Promise((done, failed) => {
      this.waiting.set(id, {done, failed, method});
      this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    });
  }

  async attach(targetId) {
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, targetId, sessionId);
    await page.begin();
    return page;
  }

  async page() {
    return this.attach((await this.send('Target.createTarget', {url: 'about:blank'})).targetId);
  }

  /** The tab that another one has opened, once it has loaded. */
  async openedBy(opener) {
    const target = await until('a window that the page opens', async () => {
      const {targetInfos} = await this.send('Target.getTargets');
      return targetInfos.find((info) => info.type === 'page' && info.openerId === opener.targetId);
    });
    const page = await this.attach(target.targetId);
    // Between the initial empty page and its own, expressions cannot be evaluated.
    await until('the page of that window', () =>
      page.value(`location.href !== 'about:blank' && document.readyState === 'complete'`).catch(() => false));
    return page;
  }

  async close() {
    this.server?.close();
    this.server?.closeAllConnections();
    // It writes into its profile until it ends.
    await Promise.race([this.send('Browser.close').catch(() => {}).then(() => this.ended), sleep(5_000)]);
    this.child.kill('SIGKILL');
    await Promise.race([this.ended, sleep(5_000)]);
    rmSync(this.scratch, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
  }
}

/** Runs `body` with a browser, and always closes it. Returns the exit status. */
export async function withChromium(dist, body) {
  let browser;
  try {
    browser = await Chromium.start(dist);
    return await body(browser);
  } catch (error) {
    console.error(error.message);
    return 1;
  } finally {
    await browser?.close();
  }
}
