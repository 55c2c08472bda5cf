'use strict';
const $ = (id) => document.getElementById(id);
// Everything from a file goes in as text, never as markup.
const el = (tag, props, ...children) => {
  const node = Object.assign(document.createElement(tag), props || {});
  for (const child of children) if (child) node.append(child);
  return node;
};
// A long name may break behind its dots, and is copied without a sign for it.
const named = (text) => {
  const node = document.createDocumentFragment();
  for (const piece of text.split(/(?<=[.$:/])(?=[A-Za-z_])/)) node.append(piece, el('wbr'));
  return node;
};
const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const MODULE = bytesOf($('module').textContent.trim());
const SAMPLE = JSON.parse($('sample').textContent);
const WORKER = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));
const UI = 'https://ui.perfetto.dev';

// The analysis that runs or is shown: { worker, fresh, answer, input, names, wanted, next }.
let current;
// What the last good analysis was of, for names that are dropped later.
let last;

const show = (id) => {
  for (const part of ['start', 'work', 'failed', 'result']) $(part).hidden = part !== id;
  $('another').hidden = id === 'start' || id === 'failed';
  $('content').setAttribute('aria-busy', id === 'work');
};
let saying;
const say = (text, stays = false) => {
  clearTimeout(saying);
  $('said').textContent = text;
  if (text && !stays) saying = setTimeout(() => say(''), 6000);
};
const size = (bytes) => bytes < 1024 ? bytes + ' bytes' : bytes < 1048576 ? (bytes / 1024).toFixed(1) + ' KiB' : (bytes / 1048576).toFixed(1) + ' MiB';

function stop() {
  if (!current) return;
  current.worker.terminate();
  current = undefined;
}
function home() {
  stop();
  last = undefined;
  say('');
  show('start');
  $('pick').focus({ preventScroll: true });
}
function fail(why) {
  stop();
  $('why').textContent = why[0].toUpperCase() + why.slice(1);
  show('failed');
  $('again').focus({ preventScroll: true });
}

function analyse(fresh) {
  if (!fresh.length) return;
  stop();
  say('');
  const begun = performance.now();
  const run = { worker: new Worker(WORKER), wanted: new Map(), next: 1 };
  current = run;
  $('bar').className = 'bar';
  $('bar').firstChild.style.width = '0';
  $('doing').textContent = 'Reading ' + fresh.map((file) => file.name).join(', ');
  show('work');
  run.worker.onerror = (event) => { if (current === run) fail('The analysis failed: ' + (event.message || 'the browser stopped it') + '.'); };
  run.worker.onmessage = ({ data }) => {
    if (current !== run) return;
    if (data.read !== undefined) {
      $('bar').firstChild.style.width = Math.round(data.read * 100) + '%';
      if (data.read === 1) {
        $('bar').firstChild.style.width = '';
        $('bar').classList.add('busy');
        $('doing').textContent = 'Analysing';
      }
    } else if (data.id !== undefined) {
      const { done, failed } = run.wanted.get(data.id);
      run.wanted.delete(data.id);
      if (data.refused === undefined) done(data.made);
      else failed(new Error(data.refused));
    } else if (data.refused !== undefined) {
      fail(data.refused);
    } else {
      Object.assign(run, data, { took: performance.now() - begun });
      last = { input: run.input, names: run.names };
      render(run);
    }
  };
  run.worker.postMessage({ module: MODULE, fresh, last });
}
// The trace or the HTML report, made when it is asked for.
const want = (run, name) => new Promise((done, failed) => {
  const id = run.next++;
  run.wanted.set(id, { done, failed });
  run.worker.postMessage({ want: name, id });
});

// Hands the trace to Perfetto: its window must open within the click, and answers once it listens.
function perfetto(run) {
  const target = window.open(UI);
  if (!target) { say('The browser blocked the new window. Allow it and try again.'); return; }
  say('Perfetto may ask whether to trust this page. Answer yes.', true);
  let asked = 0;
  const stopped = (text) => {
    clearInterval(ping);
    window.removeEventListener('message', answered);
    say(text);
  };
  const ping = setInterval(() => {
    if (target.closed) stopped('The window was closed before Perfetto had the trace.');
    else if (++asked > 600) stopped('Perfetto did not answer within a minute. Check the network, or save the trace and open it there.');
    else target.postMessage('PING', UI);
  }, 100);
  const trace = want(run, 'trace');
  trace.catch((error) => stopped(error.message));
  const answered = async (event) => {
    if (event.source !== target || event.origin !== UI || event.data !== 'PONG') return;
    clearInterval(ping);
    window.removeEventListener('message', answered);
    const buffer = await trace;
    target.postMessage({ perfetto: { buffer, title: run.answer.process, fileName: run.answer.trace } }, UI, [buffer]);
    say('Perfetto has the trace. It may ask whether to trust this page: answer yes.');
  };
  window.addEventListener('message', answered);
}
async function save(run, name, what, type) {
  try {
    const link = el('a', { href: URL.createObjectURL(new Blob([await want(run, what)], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  } catch (error) {
    say(error.message);
  }
}
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say('Copied.');
  } catch {
    say('The browser does not allow copying. Select the text instead.');
  }
}

// The program's text, unchanged, with its parts in colour.
function coloured(text, hung) {
  const pre = el('pre', { tabIndex: 0 });
  pre.setAttribute('aria-label', 'The answer as text');
  const mark = (name, words) => el('span', { className: name, textContent: words });
  let first = true;
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) || []) {
    let parts;
    if (first && line.trim() && !line.startsWith('== ')) {
      first = false;
      parts = [mark(hung ? 'h bad' : 'h', line)];
    } else if (/^(== |Cause: )/.test(line) || /^(MAIN|DEADLOCK|HEAD|OTHER |OF THE|THE |POSSIBLE|MAIN'S)/.test(line)) {
      parts = [mark('t', line)];
    } else if (/^\s*- waiting/.test(line)) {
      parts = [mark('k', line)];
    } else if (/^Next:|^ {6}anrscope /.test(line)) {
      parts = [mark('l', line)];
    } else {
      const label = /^( {2}[A-Z]\S*(?: [a-z]+)* {2,})(.*\n?)$/s.exec(line);
      const own = /^(.*)( > )(.*\n?)$/s.exec(line);
      const frame = /^(\s+(?:at|native:|kernel:) )(.*\n?)$/s.exec(line);
      const waiting = /^(.*)(\[waiting[^\]]*\])(.*\n?)$/s.exec(line);
      if (waiting) parts = [waiting[1], mark('k', waiting[2]), waiting[3]];
      else if (label) parts = [mark('l', label[1]), label[2]];
      else if (own && /^\s*(\d|>)/.test(line)) parts = [mark('own', line)];
      else if (frame) parts = [mark('f', frame[1]), frame[2]];
      else parts = [line];
    }
    pre.append(...parts);
  }
  return pre;
}

function verdict(part, level) {
  const lines = part.lines.filter(([label]) => label !== 'Cause');
  const cause = part.lines.find(([label]) => label === 'Cause');
  const rows = el('dl');
  for (const [label, text] of lines) {
    rows.append(el('dt', { textContent: label[0].toUpperCase() + label.slice(1) }), el('dd', { className: label === 'What to do' ? 'todo' : '' }, named(text)));
  }
  return el('div', { className: part.hung ? 'verdict hung' : 'verdict' }, el(level, null, named(part.headline)),
    cause && el('p', { className: 'cause', textContent: cause[1] }), lines.length && rows);
}

// Tabs by the pattern of WAI-ARIA: arrows move, one is in the order of Tab.
function tabs(pairs) {
  const list = el('div', { className: 'tabs' });
  list.setAttribute('role', 'tablist');
  const buttons = pairs.map(([title, panel, shown], index) => {
    const button = el('button', { type: 'button', textContent: title, id: 'tab' + index });
    button.setAttribute('role', 'tab');
    button.setAttribute('aria-controls', panel.id = 'panel' + index);
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', button.id);
    button.onclick = () => select(index);
    button.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: pairs.length - 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      select((index + step) % pairs.length);
      buttons[(index + step) % pairs.length].focus();
    };
    return button;
  });
  const select = (index) => pairs.forEach(([, panel, shown], at) => {
    panel.hidden = at !== index;
    buttons[at].setAttribute('aria-selected', at === index);
    buttons[at].tabIndex = at === index ? 0 : -1;
    if (at === index && shown) shown();
  });
  list.append(...buttons);
  select(0);
  return [list, ...pairs.map(([, panel]) => panel)];
}

function render(run) {
  const { answer, input, names, took } = run;
  const box = $('result');
  box.replaceChildren();
  const about = el('p', { className: 'about' }, el('b', { textContent: input.name }), ', ' + size(input.size) + ', read in ' + (took / 1000).toFixed(2) + ' s');
  if (names.length) about.append(', names from ' + names.map((file) => file.name).join(', '));
  box.append(about);
  const whole = answer.parts.map((part) => part.text).join('');
  const actions = el('div', { className: 'actions' });
  const act = (title, run, main) => actions.append(el('button', { type: 'button', className: main ? 'main' : '', textContent: title, onclick: run }));
  const recording = answer.kind === 'recording';
  if (recording) {
    act('Open the trace in Perfetto', () => perfetto(run), true);
    act('Save the trace', () => save(run, answer.trace, 'trace', 'application/octet-stream'));
    act('Save the HTML report', () => save(run, answer.trace.replace(/\.pftrace$/, '') + '.html', 'html', 'text/html'));
  }
  act('Copy the text', () => copy(whole));
  const notes = answer.warnings.length ? el('details', { className: 'note' },
    el('summary', { textContent: answer.warnings.length === 1 ? '1 note on this file' : answer.warnings.length + ' notes on this file' }),
    el('ul', null, ...answer.warnings.map((text) => el('li', { textContent: text })))) : undefined;
  const nameless = recording && !answer.named && /\bmethod \d+\b/.test(whole) ? el('p', { className: 'note',
    textContent: 'Methods are shown by number. Drop the methodMapping.txt of this build to see their names.' }) : undefined;
  const extra = [actions, nameless, notes].filter(Boolean);
  if (answer.parts.length === 1) {
    const [part] = answer.parts;
    const text = el('div', { className: 'text' }, coloured(part.text, part.hung));
    box.append(verdict(part, 'h1'), ...extra);
    if (recording) {
      const report = el('div');
      const load = async () => {
        if (report.firstChild) return;
        // It may run its own script, and reach nothing of this page.
        const frame = el('iframe', { title: 'HTML report' });
        frame.setAttribute('sandbox', 'allow-scripts allow-popups allow-popups-to-escape-sandbox');
        report.append(frame);
        try {
          frame.srcdoc = new TextDecoder().decode(await want(run, 'html'));
        } catch (error) {
          frame.replaceWith(el('p', { className: 'note', textContent: error.message }));
        }
      };
      box.append(...tabs([['Answer', text], ['Timeline and details', report, load]]));
    } else {
      box.append(text);
    }
  } else {
    const chosen = el('div');
    const list = el('ul', { className: 'dumps' });
    // Long texts are built when they are chosen; the whole is what the program prints.
    const choose = (index) => {
      const part = answer.parts[index];
      [...list.children].forEach((item, at) => item.firstChild.setAttribute('aria-current', at === index));
      chosen.replaceChildren(verdict(part, 'h2'), el('div', { className: 'text' }, coloured(part.text.replace(/^\n/, ''), part.hung)));
    };
    answer.parts.forEach((part, index) => {
      const short = part.name.startsWith(input.name + ':') ? part.name.slice(input.name.length + 1) : part.name;
      list.append(el('li', null, el('button', { type: 'button', onclick: () => { choose(index); chosen.scrollIntoView({ block: 'start' }); } },
        el('i', { className: part.hung ? 'hung' : '' }), el('span', null, named(part.headline)), el('small', null, named(short)))));
    });
    chosen.style.marginTop = '22px';
    box.append(el('h1', { textContent: answer.parts.length + ' dumps', style: 'font-size:1.4rem' }), ...extra, list, chosen);
    choose(0);
  }
  show('result');
  $('content').focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

$('pick').onclick = $('again').onclick = $('another').onclick = () => $('files').click();
$('files').onchange = () => {
  const chosen = [...$('files').files];
  $('files').value = '';
  analyse(chosen);
};
$('home').onclick = (event) => { event.preventDefault(); home(); };
$('cancel').onclick = home;
if (SAMPLE.length) {
  $('demo').onclick = async () => analyse(await Promise.all(SAMPLE.map(async ({ name, data }) => {
    const unpacked = new Blob([bytesOf(data)]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new File([await new Response(unpacked).blob()], name);
  })));
} else {
  $('demo').hidden = true;
}
let inside = 0;
const carries = (event) => event.dataTransfer && [...event.dataTransfer.types].includes('Files');
window.addEventListener('dragenter', (event) => { if (carries(event)) { event.preventDefault(); inside++; $('over').hidden = false; } });
window.addEventListener('dragleave', () => { if (inside > 0 && --inside === 0) $('over').hidden = true; });
window.addEventListener('dragover', (event) => { if (carries(event)) event.preventDefault(); });
window.addEventListener('drop', (event) => {
  inside = 0;
  $('over').hidden = true;
  if (!carries(event)) return;
  event.preventDefault();
  analyse([...event.dataTransfer.files]);
});
window.addEventListener('paste', (event) => {
  const files = [...(event.clipboardData?.files || [])], text = event.clipboardData?.getData('text/plain');
  if (files.length) analyse(files);
  else if (text) analyse([new File([text], 'pasted text')]);
});
