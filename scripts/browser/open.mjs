// Shows a recording in the real Perfetto UI in a headless Chromium, by the address that `anrscope open` prints.
//
//   node scripts/browser/open.mjs ANRSCOPE RECORDING WEB_DIST MESSAGE
//
// Main, the frames and the ANRs must be pinned, and the message that hung, whose name has MESSAGE in it, selected and in view.
// Prints what holds. Exit status: 0 as it should be, 1 not.
import {until, withChromium} from './chromium.mjs';
import {opened} from './program.mjs';

const [anrscope, recording, dist, message] = process.argv.slice(2);

async function show(browser, {url, fetched}) {
  const page = await browser.page();
  await page.open(url);
  await fetched();
  const pinned = `[...document.querySelectorAll('.pf-viewer-page__pinned-track-tree')].map((e) => e.innerText).join('\\n')`;
  const holds = async (what, expression) => {
    await until(what, () => page.value(expression)).catch(async (error) => {
      throw new Error(`${error.message}\npinned: ${await page.value(pinned)}\n${await page.value('document.body.innerText')}`);
    });
    console.log(what);
  };
  const name = JSON.stringify(message);
  await holds('main is pinned', `/main/.test(${pinned})`);
  await holds('the frames are pinned', `/Actual Timeline/.test(${pinned}) && /Expected Timeline/.test(${pinned})`);
  await holds('the ANRs are pinned', `/ANR/.test(${pinned})`);
  await holds('a tab has the message that hung', `document.body.innerText.includes(${name})`);
  // The page's own objects: what is selected is drawn on a canvas.
  await holds('that message is selected and in view', `(() => {
    const {selection: {selection}, timeline: {visibleWindow: {start, duration}}} = window.app.trace;
    const [from, to] = [start.integral, start.integral + BigInt(Math.ceil(duration))];
    return String(selection.name).includes(${name}) && from <= selection.ts && selection.ts < to;
  })()`);
  await holds('the page has no error of the trace to tell', `window.app.trace.traceInfo.importErrors === 0`);
  return 0;
}

process.exit(await withChromium(dist, async (browser) => {
  const program = await opened(anrscope, recording, ['--anr']);
  try {
    return await show(browser, program);
  } finally {
    program.stop();
  }
}));
