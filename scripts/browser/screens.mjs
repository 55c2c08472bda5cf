// Checks the first screen after a plain `anrscope open` of five recordings with a hang, in the real Perfetto UI, without a click.
//
//   node scripts/browser/screens.mjs ANRSCOPE WEB_DIST DIR CASE...
//
// CASE is NAME=FILE=PROCESS=WORD[,WORD...]: a recording, the process, and words of its answer: the cause and the lock's owner. Each
// word must be in a visible text of the page, the process's group must be expanded, and main's track visible;
// no pinned row may be empty. Takes DIR/NAME.png of each. Exit status: 0 all of it holds, 1 not.
import {join} from 'node:path';
import {sleep, until, withChromium} from './chromium.mjs';
import {opened} from './program.mjs';

const [anrscope, dist, directory, ...cases] = process.argv.slice(2);
/** The window of a laptop. */
const [WIDTH, HEIGHT] = [1440, 900];

/** Runs in the page: every text that a reader can see, whole or in part, and the titles of the visible tracks. */
const SEEN = `(() => {
  const inside = (box) => box.width > 0 && box.height > 0 && box.top >= 0 && box.left >= 0 && box.top < innerHeight && box.left < innerWidth;
  const seen = (node, element) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...range.getClientRects()].filter(inside).some((box) => {
      // Text that another element covers or cuts off is not visible.
      const [x, y] = [box.left + Math.min(box.width, innerWidth - box.left) / 2, box.top + Math.min(box.height, innerHeight - box.top) / 2];
      const top = document.elementFromPoint(x, y);
      return top && (element.contains(top) || top.contains(element));
    });
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ['SCRIPT', 'STYLE'].includes(element.tagName)) continue;
    const {visibility, opacity} = getComputedStyle(element);
    if (visibility !== 'hidden' && opacity !== '0' && seen(node, element)) texts.push(node.data.trim());
  }
  const {workspace, workspaces, timeline, selection} = window.app.trace;
  const current = workspace ?? workspaces.currentWorkspace;
  const titles = (node) => node.children.flatMap((child) => [
    {title: child.name ?? child.title, expanded: child.expanded, group: child.children.length > 0}, ...titles(child)]);
  return {texts, tracks: titles({children: current.children}),
    // A pinned group is an empty row.
    pinned: current.pinnedTracks.map((track) => ({title: track.name ?? track.title, empty: !window.app.trace.tracks.getTrack(track.uri)})),
    selected: String(selection.selection.name ?? selection.selection.kind)};
})()`;

/** Runs in the page: the errors of the trace, without those that pages before version 53 count for a stack beside an event. */
const ERRORS = `(async () => {
  const result = await window.app.trace.engine.query(\`select name from stats where value > 0 and severity in ('error', 'data_loss') and name != 'unknown_extension_fields'\`);
  const names = [];
  for (const row = result.iter({name: 'str'}); row.valid(); row.next()) names.push(row.name);
  return names;
})()`;

/** The checks that fail. */
function wrong({texts, tracks, pinned}, group, words) {
  const found = [];
  for (const word of words) {
    if (!texts.some((text) => text.includes(word))) found.push(`no visible text has ${JSON.stringify(word)}`);
  }
  const expanded = tracks.filter((track) => track.group && track.title.replace(/ [0-9]+$/, '') === group);
  if (!expanded.some((track) => track.expanded)) found.push(`the group ${group} is not expanded`);
  if (!texts.some((text) => /^main( [0-9]+)?$/.test(text))) found.push(`main's track is not in view`);
  // A thread's group has the name of its track, so it is pinned too.
  for (const {title, empty} of pinned) {
    if (empty && !pinned.some((other) => other.title === title && !other.empty)) found.push(`the pinned row ${title} is empty`);
  }
  if (pinned.length > 3) found.push(`${pinned.length} rows are pinned`);
  return found;
}

async function one(browser, name, file, group, words) {
  const program = await opened(anrscope, file);
  try {
    const page = await browser.page();
    await page.size(WIDTH, HEIGHT);
    // Hides the notice about cookies.
    await page.send('Page.addScriptToEvaluateOnNewDocument', {source: `localStorage.setItem('cookieAck', 'true')`});
    await page.open(program.url);
    await program.fetched();
    await until('the trace', () => page.value(`Boolean(window.app?.trace?.timeline)`));
    await page.value(`window.waitForPerfettoIdle?.(1000)`);
    // The commands of the address run after all plugins have loaded.
    let seen, found;
    for (let tries = 0; tries < 20; tries++) {
      await sleep(500);
      seen = await page.value(SEEN);
      found = wrong(seen, group, words);
      if (found.length === 0) break;
    }
    const errors = await page.value(ERRORS);
    if (errors.length > 0) found.push(`the page reports errors of the trace: ${errors.join(', ')}`);
    await page.picture(join(directory, `${name}.png`));
    if (process.env.ANRSCOPE_SCREENS_TEXT) console.log(JSON.stringify(seen, null, 1));
    console.log(`${name}: ${found.length === 0 ? `${words.join(', ')}, and main in its process` : found.join('; ')}; selected: ${seen.selected}`);
    return found.length === 0;
  } finally {
    program.stop();
  }
}

process.exit(await withChromium(dist, async (browser) => {
  const failed = [];
  for (const text of cases) {
    const [name, file, group, words] = text.split('=');
    if (!await one(browser, name, file, group, words.split(','))) failed.push(name);
  }
  if (failed.length > 0) console.error(`not so: ${failed.join(', ')}`);
  console.log(`${cases.length - failed.length} of ${cases.length} screens have cause and owner in view and the process expanded`);
  return failed.length === 0 ? 0 : 1;
}));
