// Checks anrscope.html, the page that scripts/web makes, in a headless Chromium.
//
//   node scripts/browser/web.mjs PAGE.html [--ui WEB_DIST] [--pictures DIR] DROP...
//   node scripts/browser/web.mjs PAGE.html --docs DIR       writes the pictures of docs/web.md, of the start and of the demo's answer
//
// A DROP is one file, or several joined by commas that are dropped together; `demo` presses the button of the sample. Every other
// drop uses the file chooser. All are done on one page, one after the other, so that a bad file shows whether the page lives on.
// Prints one JSON document:
// {"drops":[{"drop":TEXT,"text":TEXT | null,"refused":TEXT | null,"headlines":[TEXT,...],"notes":[TEXT,...],"ms":N,"memory":N,"trace":SHA256 | null,
//            "report":TEXT | null}],
//  "problems":[TEXT,...],"looks":N,"arrived":{"title":TEXT,"slices":N} | null}
// `text` is what the page shows, of all dumps; `ms` the time from the drop to the answer, `memory` the bytes of the module;
// `trace` is what the button handed to a page that stands at ui.perfetto.dev, `report` the headline of the HTML report.
// `problems` are faults of the looks (390, 820 and 1440 px, light and dark), errors, and requests to any network.
// `arrived` is the description of the demo's trace by the real UI, with --ui.
// Exit status: 0 checked, with any findings; 1 the check failed.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {until, withChromium} from './chromium.mjs';
import {LOOK, SIZES} from './looks.mjs';

const [file, ...rest] = process.argv.slice(2);
const option = (name) => {
  const at = rest.indexOf(name);
  return at < 0 ? undefined : rest.splice(at, 2)[1];
};
const [ui, pictures, docs] = [option('--ui'), option('--pictures'), option('--docs')];
const url = pathToFileURL(resolve(file)).href;

/** Stands at ui.perfetto.dev, and keeps what it is given. */
const OPENER = `<!doctype html><title>opener</title><script>
addEventListener('message', (event) => {
  if (event.data === 'PING') event.source.postMessage('PONG', '*');
  else if (event.data.perfetto) window.given = event.data.perfetto;
});
</script>`;

/** What the page shows: its state, and the text of the answer. Dumps of an archive are chosen one after the other. */
const SEEN = `(() => {
  const id = ['start', 'work', 'failed', 'result'].find((id) => !document.getElementById(id).hidden);
  const headlines = [], texts = [];
  const take = () => {
    headlines.push(document.querySelector('.verdict h1, .verdict h2').textContent);
    texts.push(document.querySelector('pre').textContent);
  };
  if (id === 'result') {
    const buttons = [...document.querySelectorAll('.dumps button')];
    for (const button of buttons) { button.click(); take(); }
    if (buttons.length) buttons[0].click();
    else take();
  }
  return {id, headlines, text: id === 'result' ? texts.join('\\n') : null,
    refused: id === 'failed' ? document.getElementById('why').textContent : null,
    notes: id !== 'result' ? [] : [...document.querySelectorAll('#result .note li')].map((node) => node.textContent),
    ms: current?.took ?? null, memory: current?.memory ?? null};
})()`;

async function middle(page, selector) {
  return page.value(`(() => {
    const node = document.querySelector(${JSON.stringify(selector)});
    node.scrollIntoView({block: 'center'});
    const box = node.getBoundingClientRect();
    return {x: box.left + box.width / 2, y: box.top + box.height / 2};
  })()`);
}
const click = async (page, selector) => {
  const {x, y} = await middle(page, selector);
  await page.click(x, y);
};

/** Gives the page files, as a hand does. */
async function give(page, drop, choose) {
  await page.value(`for (const id of ['failed', 'result']) document.getElementById(id).hidden = true`);
  if (drop === 'demo') {
    await page.value(`document.getElementById('home').click()`);
    await click(page, '#demo');
    return;
  }
  const files = drop.split(',').map((name) => resolve(name));
  if (choose) {
    const {root} = await page.send('DOM.getDocument');
    const {nodeId} = await page.send('DOM.querySelector', {nodeId: root.nodeId, selector: '#files'});
    await page.send('DOM.setFileInputFiles', {files, nodeId});
    return;
  }
  const data = {items: [], files, dragOperationsMask: 1};
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await page.send('Input.dispatchDragEvent', {type, x: 200, y: 200, data});
  }
}

/** What the button hands to the page at ui.perfetto.dev. */
async function handed(browser, page) {
  await click(page, '.actions button.main');
  const target = await browser.openedBy(page);
  const given = await until('the trace in the other page', () => target.value(`window.given && (async () => {
    const sum = await crypto.subtle.digest('SHA-256', window.given.buffer);
    return {trace: [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, '0')).join(''), name: window.given.fileName};
  })()`));
  await browser.send('Target.closeTarget', {targetId: target.targetId});
  return given.trace;
}

/** The headline of the HTML report, from its own frame. */
async function report(page) {
  await click(page, '#tab1');
  // A frame in a sandbox is a target of its own.
  const target = await until('the frame of the HTML report', async () => {
    const {targetInfos} = await page.browser.send('Target.getTargets');
    return targetInfos.find((info) => info.type === 'iframe');
  });
  const frame = await page.browser.attach(target.targetId);
  const headline = await until('the HTML report', () => frame.value(`document.querySelector('h1')?.textContent`));
  await page.browser.send('Target.detachFromTarget', {sessionId: frame.sessionId});
  await click(page, '#tab0');
  return headline;
}

async function looks(page, name, found) {
  for (const {name: size, ...window} of SIZES) {
    const lights = [];
    for (const theme of ['light', 'dark']) {
      await page.size(window.width, window.height, window);
      await page.theme(theme);
      const {problems, light} = await page.value(LOOK);
      lights.push(light);
      found.looks++;
      found.problems.push(...problems.map((text) => `${name} ${size} ${theme}: ${text}`));
      if (pictures) {
        await page.value('window.scrollTo(0, 0)');
        await page.picture(join(pictures, `${name}-${size}-${theme}.png`));
      }
    }
    if (!(lights[0] > .7 && lights[1] < .1)) found.problems.push(`${name} ${size}: light and dark are ${lights}`);
  }
  await page.size(1280, 900);
  await page.theme('light');
}

/** The keys alone: Tab comes to the button of the sample, Enter shows its answer, an arrow its second tab. */
async function keys(page, problems) {
  await page.value(`document.getElementById('home').click()`);
  const focused = () => page.value('document.activeElement.id');
  for (let tries = 0; tries < 12 && await focused() !== 'demo'; tries++) await page.press('Tab');
  if (await focused() !== 'demo') problems.push('Tab does not come to the demo');
  if (await page.value(`getComputedStyle(document.activeElement).outlineStyle === 'none'`)) problems.push('the focus is not seen');
  await page.press('Enter');
  await until('the answer of the demo', () => page.value(`!document.getElementById('result').hidden`));
  for (let tries = 0; tries < 20 && await focused() !== 'tab0'; tries++) await page.press('Tab');
  await page.press('ArrowRight');
  if (await focused() !== 'tab1' || await page.value(`document.getElementById('panel1').hidden`)) problems.push('an arrow key does not change the tab');
}

async function check(browser, drops) {
  const found = {drops: [], problems: [], looks: 0, arrived: null};
  const page = await browser.page();
  await page.size(1280, 900);
  await page.open(url);
  await looks(page, 'start', found);
  for (const [number, drop] of drops.entries()) {
    await give(page, drop, number % 2 === 1);
    await until(`an answer for ${drop}`, () => page.value(`!document.getElementById('failed').hidden || !document.getElementById('result').hidden`));
    const {id, ...seen} = await page.value(SEEN);
    const recording = await page.value(`current?.answer?.kind === 'recording'`);
    found.drops.push({drop, ...seen, trace: recording ? await handed(browser, page) : null, report: recording ? await report(page) : null});
    if (pictures || number < 3) await looks(page, drop === 'demo' ? 'demo' : `drop-${number}`, found);
  }
  await keys(page, found.problems);
  found.problems.push(...page.errors.map((text) => `error: ${text}`));
  // Its own blobs are the worker and what is saved.
  const foreign = page.requests.filter((asked) => asked !== url && !/^(blob:|data:|about:)/.test(asked));
  found.problems.push(...foreign.map((asked) => `request: ${asked}`));
  if (await page.value(`fetch('${url}').then(() => true, () => false)`)) found.problems.push('the policy lets the page fetch');
  return found;
}

/** The pictures of docs/web.md. */
async function illustrate(browser) {
  const page = await browser.page();
  const take = async (name, theme, width, height, more = {}) => {
    await page.size(width, height, more);
    await page.theme(theme);
    await page.value('window.scrollTo(0, 0)');
    await page.picture(join(docs, `${name}.png`));
  };
  await page.open(url);
  await take('web-start', 'light', 1280, 860);
  await give(page, 'demo');
  await until('the answer of the demo', () => page.value(`!document.getElementById('result').hidden`));
  await take('web', 'light', 1280, 1150);
  await take('web-phone', 'dark', 390, 860, {mobile: true, scale: 1.5});
}

/** The demo's trace in the real UI. */
async function arrives(browser) {
  const page = await browser.page();
  await page.open(url);
  await give(page, 'demo');
  await until('the answer of the demo', () => page.value(`!document.getElementById('result').hidden`));
  await click(page, '.actions button.main');
  const target = await browser.openedBy(page);
  await until('the trace in the UI', async () => {
    // A page from a disk has no origin that the UI knows: it asks.
    await target.value(`[...document.querySelectorAll('.pf-modal-dialog button')]
      .find((button) => /^yes/i.test(button.textContent.trim()))?.click()`);
    return target.value(`Boolean(window.app?.trace?.traceInfo)`);
  });
  const slices = await target.value(`(async () => {
    const result = await window.app.trace.engine.query('select count(*) as n from slice');
    return Number(result.firstRow({n: 0}).n);
  })()`);
  return {title: await target.value('window.app.trace.traceInfo.traceTitle'), slices};
}

const opener = mkdtempSync(join(tmpdir(), 'anrscope-opener-'));
writeFileSync(join(opener, 'index.html'), OPENER);
let found;
let status = await withChromium(opener, async (browser) => {
  if (docs) await illustrate(browser);
  else found = await check(browser, rest);
  return 0;
});
rmSync(opener, {recursive: true});
if (status === 0 && ui) {
  status = await withChromium(ui, async (browser) => {
    found.arrived = await arrives(browser);
    return 0;
  });
}
// The document may be longer than a pipe takes at once.
process.stdout.write(found ? `${JSON.stringify(found)}\n` : '', () => process.exit(status));
