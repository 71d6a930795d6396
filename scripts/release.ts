import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { reportUnpinned } from './unpinned.ts';

const FILES = ['deploy/Dockerfile', 'deploy/compose.yaml', 'deploy/kubernetes/flywheel.yaml'] as const;

/** Builds the published package if all sources are pinned: images by a digest, packages by a hash. */
await release();

async function release(): Promise<void> {
  const files = await Promise.all(FILES.map(async (path) => ({ path, text: await read(path) })));
  const lines = reportUnpinned(files, await read('package-lock.json'));
  if (lines.length > 0) {
    process.stderr.write(`${lines.join('\n')}\n`);
    process.exitCode = 1;
    return;
  }
  process.exitCode = spawnSync('npm', ['run', 'build'], { stdio: 'inherit' }).status ?? 1;
}

function read(path: string): Promise<string> {
  return readFile(new URL(`../${path}`, import.meta.url), 'utf8');
}
