// Takes a picture of the answer of HTML reports, for the page about hangs whose reason is not main.
//
//   node scripts/browser/phone.mjs WEB_DIST DIR NAME=PAGE.html...
//
// Writes NAME.png for each. Exit status: 0 done, 1 not.
import {statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {withChromium} from './chromium.mjs';

const [dist, directory, ...pages] = process.argv.slice(2);
/** Maximum size of a picture, bytes: they are part of the repository. */
const LONGEST = 90_000;

process.exit(await withChromium(dist, async (browser) => {
  const page = await browser.page();
  await page.theme('light');
  for (const [name, file] of pages.map((word) => word.split('='))) {
    await page.size(1000, 600);
    await page.open(pathToFileURL(resolve(file)).href);
    // Only the answer: the headline and the first part.
    const bottom = await page.value(`Math.ceil(document.querySelector('section, .part')?.getBoundingClientRect().bottom ?? 440)`);
    await page.size(1000, Math.min(600, bottom + 12));
    const target = join(directory, `${name}.png`);
    await page.picture(target);
    const {size} = statSync(target);
    console.log(`${target}: ${size} bytes`);
    if (size > LONGEST) throw new Error(`${target} is longer than ${LONGEST} bytes`);
  }
}));
