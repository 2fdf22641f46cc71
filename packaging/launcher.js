#!/usr/bin/env node
// Starts the program that the package of this system holds, and ends as it ends.
'use strict';
const { spawn } = require('child_process');
const path = require('path');

const umbrella = require('../package.json');
const system = `${umbrella.name}-${process.platform}-${process.arch}`;
const program = path.basename(__filename, '.js');
const suffix = process.platform === 'win32' ? '.exe' : '';
let file;
try {
  file = path.join(path.dirname(require.resolve(`${system}/package.json`)), 'bin', program + suffix);
} catch {
  console.error(`error: the package ${system} is not installed`);
  console.error('hint: install without --omit=optional; other systems: build from source with cargo');
  process.exit(127);
}
// Signals from the terminal reach the program too; it decides what they mean.
for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP']) process.on(signal, () => {});
// Under the path of this launcher: what the program prints as a command is what can be typed.
const child = spawn(file, process.argv.slice(2), { stdio: 'inherit', argv0: process.argv[1] });
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('error', (error) => {
  console.error(`error: cannot start ${file}: ${error.message}`);
  process.exit(127);
});
child.on('exit', (code, signal) => {
  if (signal) {
    for (const name of ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGTERM']) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
