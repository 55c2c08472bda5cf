// Checks HTML reports in a headless Chromium: three widths, light and dark, mouse, touch and keyboard, and the button that
// sends the trace to the real Perfetto UI.
//
//   node scripts/browser/report.mjs WEB_DIST PAGE.html...            prints one JSON document (below)
//   node scripts/browser/report.mjs WEB_DIST PAGE.html... --pictures DIR
//
// {"pages":[{"page":FILE,"looks":N,"charts":N,"slices":N,"headline":TEXT,"alarming":BOOL,"beside":BOOL,"axes":N,"problems":[TEXT,...],
//            "arrived":{"title":TEXT,"slices":N} | null}]}
// `headline` is the page's first line, `alarming` whether it has the colour of a hang; `beside`: on the widest page a second stack is
// to the right of the first one. `axes` counts time axes with five labels in order.
// `looks` counts page, width and theme; `slices` those whose colour was found in their place. `arrived` is the UI's description
// of the trace that the first page's button sent; null for other pages.
// Exit status: 0 checked, with any findings; 1 the check failed.
import {basename, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {until, withChromium} from './chromium.mjs';
import {LOOK, SIZES} from './looks.mjs';

const [dist, ...rest] = process.argv.slice(2);
const at = rest.indexOf('--pictures');
const [files, directory] = at < 0 ? [rest, undefined] : [rest.slice(0, at), rest[at + 1]];

/** In the page: compares the colour in the middle of each slice that is wide enough with that of its kind. */
const SLICES = `(() => {
  const problems = [];
  let right = 0;
  // A copy, so that the page's own charts are not changed.
  const readable = (width, height) => Object.assign(document.createElement('canvas'), {width, height})
    .getContext('2d', {willReadFrequently: true});
  const probe = readable(1, 1);
  for (const [i, item] of charts.entries()) {
    const box = item.canvas.getBoundingClientRect();
    const scale = item.canvas.width / box.width;
    const c = readable(item.canvas.width, item.canvas.height);
    c.drawImage(item.canvas, 0, 0);
    for (const s of item.slices) {
      const x = (t) => (t - item.view.from) / (item.view.to - item.view.from) * box.width;
      const [a, b] = [Math.max(0, x(s[1])), Math.min(box.width, x(s[2]))];
      if (b - a < 4) continue;
      probe.fillStyle = css(kinds[s[3]]);
      probe.fillRect(0, 0, 1, 1);
      const want = probe.getImageData(0, 0, 1, 1).data;
      // Under the label, above the next row.
      const got = c.getImageData(Math.round((a + b) / 2 * scale), Math.round((s[0] * ROW + ROW - 4) * scale), 1, 1).data;
      if ([0, 1, 2].every((k) => Math.abs(want[k] - got[k]) <= 2)) right++;
      else problems.push('chart ' + i + ': ' + chart.names[s[4]] + ' is not drawn: ' + [...got] + ' for ' + [...want]);
    }
  }
  return {problems, right, charts: charts.length};
})()`;

/** The middle of the widest slice of the first chart, and its name. */
const WIDEST = `(() => {
  if (!charts.length) return null;
  const {canvas, slices, view} = charts[0];
  canvas.scrollIntoView({block: 'center'});
  const box = canvas.getBoundingClientRect();
  const s = slices.reduce((best, s) => s[2] - s[1] > best[2] - best[1] ? s : best);
  const x = (t) => (t - view.from) / (view.to - view.from) * box.width;
  return {x: box.left + (Math.max(0, x(s[1])) + Math.min(box.width, x(s[2]))) / 2, y: box.top + s[0] * ROW + ROW / 2,
    name: chart.names[s[4]]};
})()`;

/** The headline and its colour, whether two stacks are beside each other, and how many charts have a time axis. */
const SHAPE = `(() => {
  const head = document.querySelector('h1');
  const probe = document.body.appendChild(Object.assign(document.createElement('i'), {className: 'bad'}));
  const bad = getComputedStyle(probe).color;
  probe.remove();
  const stacks = [...document.querySelectorAll('.beside > div')].map((node) => node.getBoundingClientRect());
  const times = (axis) => [...axis.children].map((label) => parseFloat(label.textContent));
  const rises = (list) => list.length === 5 && list.every((time, i) => i === 0 || time >= list[i - 1]);
  return {
    headline: head.textContent,
    alarming: getComputedStyle(head).color === bad,
    beside: stacks.length > 1 && stacks[1].left >= stacks[0].right && Math.abs(stacks[0].top - stacks[1].top) < 1,
    axes: [...document.querySelectorAll('.axis')].filter((axis) => rises(times(axis))).length,
  };
})()`;

const note = (page) => page.value(`document.getElementById('selected').textContent`);
const views = (page) => page.value(`JSON.stringify(charts.map((c) => c.view))`);

/** A tap or click shows a slice's details and zooms to it, and the button zooms out again. */
async function points(page, problems, how) {
  const widest = await page.value(WIDEST);
  if (!widest) return;
  const whole = await views(page);
  await page[how](widest.x, widest.y);
  await until(`the slice under a ${how}`, async () => (await note(page)).startsWith(widest.name))
    .catch((error) => problems.push(error.message));
  const button = await page.value(`(() => {
    const button = [...document.querySelectorAll('button')].find((b) => b.textContent === 'Whole');
    button.scrollIntoView({block: 'center'});
    const box = button.getBoundingClientRect();
    return {x: box.left + box.width / 2, y: box.top + box.height / 2};
  })()`);
  await page[how](button.x, button.y);
  await until('the whole again', async () => (await views(page)) === whole).catch((error) => problems.push(error.message));
}

/** Everything that a finger can do, keys can do. */
async function keys(page, problems) {
  if (!(await page.value('charts.length'))) return;
  const whole = await views(page);
  await page.value('document.activeElement.blur()');
  const focused = () => page.value(`document.activeElement.tagName + ' ' + document.activeElement.textContent`);
  const seen = [];
  while (!(await focused()).startsWith('CANVAS') && seen.length < 20) {
    await page.press('Tab');
    seen.push(await focused());
  }
  if (seen.length === 20) {
    problems.push(`the tab key never comes to the chart: ${seen}`);
    return;
  }
  if (await page.value(`getComputedStyle(document.activeElement).outlineStyle === 'none'`)) problems.push('the focus is not seen');
  await page.press('ArrowRight');
  const first = await note(page);
  await page.press('ArrowDown');
  const below = await note(page);
  const [names, deep] = await page.value(`[chart.names, charts[0].depth > 0]`);
  if (!names.some((name) => first.startsWith(name))) problems.push(`an arrow key tells no slice: ${first}`);
  if (deep && (below === first || !names.some((name) => below.startsWith(name)))) problems.push(`no way down: ${first}, ${below}`);
  await page.press('ArrowUp');
  if (deep && (await note(page)) !== first) problems.push(`no way up again: ${await note(page)} is not ${first}`);
  if (deep) {
    await page.press('ArrowDown');
    await page.press('Enter');
    await page.press('Escape');
  }
  if ((await views(page)) !== whole) problems.push('the escape key does not show the whole');
}

/** Clicks the button, confirms the UI's question, and reads the trace from the UI. */
async function arrives(browser, page) {
  const button = await page.value(`(() => {
    const button = document.querySelector('button.main');
    button?.scrollIntoView({block: 'center'});
    const box = button?.getBoundingClientRect();
    return box && {x: box.left + box.width / 2, y: box.top + box.height / 2};
  })()`);
  if (!button) return null;
  await page.click(button.x, button.y);
  const ui = await browser.openedBy(page);
  // A page from a disk has no origin that the UI knows: it asks.
  await until('the trace in the UI', async () => {
    await ui.value(`[...document.querySelectorAll('.pf-modal-dialog button')]
      .find((button) => /^yes/i.test(button.textContent.trim()))?.click()`);
    return ui.value(`Boolean(window.app?.trace?.traceInfo)`);
  });
  const slices = await ui.value(`(async () => {
    const result = await window.app.trace.engine.query('select count(*) as n from slice');
    return Number(result.firstRow({n: 0}).n);
  })()`);
  const title = await ui.value('window.app.trace.traceInfo.traceTitle');
  await ui.value('window.close()').catch(() => {});
  return {title, slices};
}

async function look(browser, file, hand) {
  const found = {page: file, looks: 0, charts: 0, slices: 0, problems: [], arrived: null};
  const url = pathToFileURL(resolve(file)).href;
  const page = await browser.page();
  for (const {name, ...size} of SIZES) {
    const lights = [];
    for (const theme of ['light', 'dark']) {
      const problems = [];
      await page.size(size.width, size.height, size);
      await page.theme(theme);
      await page.open(url);
      if (directory) await page.picture(join(directory, `${basename(file, '.html')}-${name}-${theme}.png`), true);
      const {problems: bad, light} = await page.value(LOOK);
      lights.push(light);
      Object.assign(found, await page.value(SHAPE));
      const {problems: missing, right, charts} = await page.value(SLICES);
      problems.push(...bad, ...missing);
      found.charts = charts;
      found.slices += right;
      // A page that is too wide is scaled down on a phone, and taps miss.
      if (bad.some((text) => text.startsWith('scrolls'))) found.slices = 0;
      else if (size.mobile) await points(page, problems, 'tap');
      else {
        await points(page, problems, 'click');
        await keys(page, problems);
      }
      problems.push(...page.errors.map((text) => `error: ${text}`));
      problems.push(...page.requests.filter((asked) => asked !== url).map((asked) => `request: ${asked}`));
      found.looks++;
      found.problems.push(...problems.map((text) => `${name} ${theme}: ${text}`));
    }
    if (!(lights[0] > .7 && lights[1] < .1)) found.problems.push(`${name}: light and dark are ${lights}`);
  }
  if (hand && dist) found.arrived = await arrives(browser, page);
  await browser.send('Target.closeTarget', {targetId: page.targetId});
  return found;
}

const status = await withChromium(dist, async (browser) => {
  const pages = [];
  for (const [i, file] of files.entries()) pages.push(await look(browser, file, i === 0));
  console.log(JSON.stringify({pages}));
  return 0;
});
process.exit(status);
