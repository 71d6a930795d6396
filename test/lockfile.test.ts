import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';

interface LockedPackage {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

describe('package-lock.json', async () => {
  const text = await readFile(new URL('../package-lock.json', import.meta.url), 'utf8');
  const { packages }: { packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(text);

  // npm omits packages that its registry does not have, and npm ci then rejects the lock file.
  it('has the optional packages of every platform', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`${path}/node_modules/${name}` in packages) && !(`node_modules/${name}` in packages),
      ),
    );
    assert.deepEqual(missing, []);
  });

  it('names no host, so that any mirror can serve it', () => {
    const hosts = Object.values(packages).flatMap(({ resolved }) => (resolved?.includes('://') ? [resolved] : []));
    assert.deepEqual(hosts, []);
  });
});
