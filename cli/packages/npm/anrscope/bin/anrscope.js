#!/usr/bin/env node
// Runs the program of the package for this system, with the same arguments, streams and exit status.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { isatty } = require('node:tty');

const platform = `${process.platform}-${process.arch}`;
const name = `@anrscope/${platform}`;

function program() {
  if (process.env.ANRSCOPE_PROGRAM) return process.env.ANRSCOPE_PROGRAM;
  try {
    return require.resolve(`${name}/bin/anrscope${process.platform === 'win32' ? '.exe' : ''}`);
  } catch {
    const known = Object.keys(require('../package.json').optionalDependencies);
    const cure = known.includes(name)
      ? `its package ${name} is not installed; run: npm install --include=optional anrscope`
      : `there is no package for ${platform}, only ${known.map((each) => each.slice('@anrscope/'.length)).join(', ')}`;
    console.error(`error: cannot find the program: ${cure}`);
    process.exit(1);
  }
}

const path = program();
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' });

// Without handlers this process would end first and leave the program running. A terminal sends the signals of its keys to both,
// so only signals from elsewhere are forwarded then. (process.stdin must not be used: node would make a pipe non-blocking, and the
// program, which reads the same pipe, would fail.)
const terminal = [0, 1, 2].some((stream) => isatty(stream));
for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP']) {
  const fromKeys = terminal && (signal === 'SIGINT' || signal === 'SIGQUIT');
  try {
    process.on(signal, () => {
      if (!fromKeys) child.kill(signal);
    });
  } catch {
    // Windows has no such signal.
  }
}

child.on('error', (error) => {
  console.error(`error: cannot run ${path}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (status, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // If the signal did not end this process, the status says what a shell would.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
  } else {
    process.exit(status);
  }
});
