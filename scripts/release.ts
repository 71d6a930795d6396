import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { findTaggedImages, findUnhashedPackages } from './unpinned.ts';

const FILES = ['deploy/Dockerfile', 'deploy/compose.yaml', 'deploy/kubernetes/flywheel.yaml'] as const;

/** Packs what is published, but only from what nobody can exchange: images by digest, packages with a hash. */
await release();

async function release(): Promise<void> {
  const images = (await Promise.all(FILES.map(async (path) => findTaggedImages(path, await read(path))))).flat();
  const packages = findUnhashedPackages(await read('package-lock.json'));
  for (const image of images) {
    const name = image.split(': ')[1];
    report(`${image} is a tag. Append its digest: docker buildx imagetools inspect ${name}`);
  }
  for (const each of packages)
    report(`package-lock.json: ${each} has no hash. npm install with a registry that has it.`);
  if (images.length + packages.length > 0) {
    report(`Not released: ${images.length} images by tag, ${packages.length} packages without a hash.`);
    process.exitCode = 1;
    return;
  }
  process.exitCode = spawnSync('npm', ['run', 'build'], { stdio: 'inherit' }).status ?? 1;
}

function read(path: string): Promise<string> {
  return readFile(new URL(`../${path}`, import.meta.url), 'utf8');
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}
