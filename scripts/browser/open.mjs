// Shows a recording in the real Perfetto UI in a headless Chromium, by the address that `anrscope open` prints.
//
//   node scripts/browser/open.mjs ANRSCOPE RECORDING WEB_DIST MESSAGE
//
// Only the ANRs must be pinned, main and the frames be in the expanded process, and the ANR with its cause selected and in view, a
// slice that starts with the message that hung, whose name contains MESSAGE.
// Prints the checks that pass. Exit status: 0 all pass, 1 not.
import {until, withChromium} from './chromium.mjs';
import {opened} from './program.mjs';

const [anrscope, recording, dist, message] = process.argv.slice(2);

async function show(browser, {url, fetched}) {
  const page = await browser.page();
  await page.open(url);
  await fetched();
  // The pinned tracks, from the page's own objects, and the text below them.
  const pinned = `(window.app.trace.workspace ?? window.app.trace.workspaces.currentWorkspace).pinnedTracks.map((track) => track.name)`;
  const below = `document.querySelector('.pf-viewer-page__scrolling-track-tree')?.innerText ?? ''`;
  const holds = async (what, expression) => {
    await until(what, () => page.value(`Boolean(window.app?.trace) && (${expression})`)).catch(async (error) => {
      throw new Error(`${error.message}\npinned: ${await page.value(pinned)}\n${await page.value('document.body.innerText')}`);
    });
    console.log(what);
  };
  const name = JSON.stringify(message);
  await holds('the ANRs are pinned, and nothing else', `${pinned}.join() === 'ANR'`);
  await holds('main is in the expanded process', `/main [0-9]+/.test(${below})`);
  await holds('the frames are, too', `/Actual Timeline/.test(${below}) && /Expected Timeline/.test(${below})`);
  await holds('a tab has the message that hung', `document.body.innerText.includes(${name})`);
  // From the page's own objects: the selection is drawn on a canvas.
  await holds('its ANR with the cause is selected and in view', `(() => {
    const {selection: {selection}, timeline: {visibleWindow: {start, duration}}} = window.app.trace;
    const [from, to] = [start.integral, start.integral + BigInt(Math.ceil(duration))];
    return String(selection.name).startsWith('ANR: LOCK WAIT, lock owner SyncWorker: ') && from <= selection.ts && selection.ts < to;
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
