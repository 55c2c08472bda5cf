// Takes the pictures of the docs: an HTML report in light, dark and on a phone, and three traces in the real Perfetto UI.
//
//   node scripts/browser/pictures.mjs ANRSCOPE DEMO.anrscope DEMO.html CLOSURE.pftrace POOL.anrscope WEB_DIST DIR
//
// Writes report-light.png, report-dark.png, report-phone.png, demo.png, closure.png and chain.png; only those whose name begins
// with $ANRSCOPE_PICTURES, if that is set. Exit status: 0 done, 1 not.
import {statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {sleep, until, withChromium} from './chromium.mjs';
import {opened} from './program.mjs';

const [anrscope, demo, html, closure, pool, dist, directory] = process.argv.slice(2);
const wanted = (name) => name.startsWith(process.env.ANRSCOPE_PICTURES ?? '');
/** Maximum size of a picture, bytes: they are part of the repository. */
const LONGEST = 250_000;

function announce(file) {
  const {size} = statSync(file);
  console.log(`${file}: ${size} bytes`);
  if (size > LONGEST) throw new Error(`${file} is longer than ${LONGEST} bytes`);
}

async function report(browser) {
  const page = await browser.page();
  for (const [name, theme, width, height, more] of [['light', 'light', 1100, 1120, {}], ['dark', 'dark', 1100, 1120, {}],
    ['phone', 'light', 390, 844, {mobile: true, scale: 1.5}]]) {
    await page.size(width, height, more);
    await page.theme(theme);
    await page.open(pathToFileURL(resolve(html)).href);
    const file = join(directory, `report-${name}.png`);
    await page.picture(file);
    announce(file);
  }
}

async function ui(browser, file, flags, name, ready, prepare, height = 900) {
  if (!wanted(name)) return;
  const program = await opened(anrscope, file, flags);
  try {
    const page = await browser.page();
    await page.size(1400, height);
    // Hides the notice about cookies.
    await page.send('Page.addScriptToEvaluateOnNewDocument', {source: `localStorage.setItem('cookieAck', 'true')`});
    // Hides the side bar.
    await page.open(program.url.replace('?url=', '?hideSidebar=true&url='));
    await program.fetched();
    await until('the trace', () => page.value(`Boolean(window.app?.trace) && (${ready})`));
    await page.value(`(async () => {
      ${prepare}
      await window.waitForPerfettoIdle?.(1000);
      const pinned = document.querySelector('.pf-viewer-page__pinned-track-tree');
      if (pinned) pinned.scrollTop = 0;
    })()`);
    await sleep(1_500);
    const target = join(directory, name);
    await page.picture(target);
    announce(target);
  } finally {
    program.stop();
  }
}

process.exit(await withChromium(dist, async (browser) => {
  if (wanted('report')) await report(browser);
  await ui(browser, demo, ['--anr'], 'demo.png', `/LOCK WAIT/.test(window.app.trace.selection.selection.name)`, '');
  // The compiler's threads by start time, each as high as its calls are deep.
  await ui(browser, closure, [], 'closure.png', `document.querySelector('.pf-viewer-page__scrolling-track-tree')`, `
    for (const track of [...(window.app.trace.workspace ?? window.app.trace.workspaces.currentWorkspace).pinnedTracks]) track.unpin();
    await window.app.commands.runCommand('dev.perfetto.ExpandTracksByRegex', 'compiler.jar');
    [...document.querySelectorAll('.pf-icon, i')].filter((icon) => icon.textContent === 'keyboard_arrow_down').pop()?.click();`);
  // Main's wait is selected: its arrows lead to the task that it waits for, and on to what that waits for.
  await ui(browser, pool, [], 'chain.png', `document.querySelector('.pf-viewer-page__scrolling-track-tree')`, `
    const trace = window.app.trace;
    const workspace = trace.workspace ?? trace.workspaces.currentWorkspace;
    for (const track of [...workspace.pinnedTracks]) track.unpin();
    const found = await trace.engine.query(\`
      select s.id, s.ts - 100000000 as begin from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid)
      where t.is_main_thread and s.name glob 'park for *' order by s.dur desc limit 1\`);
    const row = found.firstRow({id: 0, begin: 0n});
    trace.selection.selectSqlEvent('slice', row.id, {scrollToSelection: false, switchToCurrentSelectionTab: true});
    await window.waitForPerfettoIdle?.(1000);
    trace.timeline.setViewportTime(row.begin - 100000000n, row.begin + 1400000000n);
    trace.tabs.toggleTabPanelVisibility();
    await window.waitForPerfettoIdle?.(1000);
    document.querySelector('.pf-viewer-page__scrolling-track-tree').scrollTop = 0;`, 800);
  return 0;
}));
