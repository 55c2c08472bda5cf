// What every page must be in a browser: wide enough for its content, readable, and easy to hit.

/** The windows in which a page is checked. */
export const SIZES = [
  {name: 'phone', width: 390, height: 844, scale: 2, mobile: true},
  {name: 'tablet', width: 820, height: 1180, mobile: true},
  {name: 'desktop', width: 1440, height: 900},
];
/** WCAG 2.2, success criterion 1.4.3: contrast of text with its background. */
const CONTRAST = 4.5;
/** WCAG 2.2, success criterion 2.5.8: minimum size of a target, CSS pixels. */
const TAPPED = 24;

/** In the page: everything that is too wide, hard to read or hard to hit. */
export const LOOK = `(() => {
  const problems = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) problems.push('scrolls sideways: ' + root.scrollWidth + ' > ' + root.clientWidth);
  const parse = (css) => (css.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const c = parse(getComputedStyle(node).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  let texts = 0;
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    const box = node.getBoundingClientRect();
    if (box.width === 0 || getComputedStyle(node).visibility === 'hidden') continue;
    if (node.matches('button, label')) {
      if (box.height < ${TAPPED} || box.width < ${TAPPED}) problems.push('too small to hit: ' + node.textContent);
    }
    if (!own || node.matches('script, style')) continue;
    texts++;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < ${CONTRAST}) problems.push('contrast ' + ratio.toFixed(2) + ': ' + node.textContent.slice(0, 60));
    if (parseFloat(getComputedStyle(node).fontSize) < 11) problems.push('small print: ' + node.textContent.slice(0, 60));
  }
  if (texts < 5) problems.push('hardly a word: ' + texts);
  return {problems, light: light(behind(document.body))};
})()`;
