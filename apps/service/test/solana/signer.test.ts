import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createKeyPairSignerFromBytes, getPublicKeyFromAddress, signBytes, verifySignature } from '@solana/kit';
import { createSignerFile, loadSigner, readSignerAddress } from '../../src/solana/signer.ts';

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'flywheel-signer-'));
});
after(() => rm(directory, { recursive: true }));

async function keypairFile(name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content);
  return path;
}

async function newKeypair(name: string): Promise<{ path: string; numbers: number[] }> {
  const path = join(directory, name);
  await createSignerFile(path);
  return { path, numbers: JSON.parse(await readFile(path, 'utf8')) };
}

describe('createSignerFile', () => {
  it('writes 64 numbers that only the owner can read, and no other file', async () => {
    const path = join(directory, 'new.json');
    const address = await createSignerFile(path);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal(JSON.parse(await readFile(path, 'utf8')).length, 64);
    assert.equal((await loadSigner(path)).address, address);
    assert.equal(await readSignerAddress(path), address);
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.startsWith('new')),
      ['new.json'],
    );
  });

  it('never overwrites a file, even if it is not a keypair', async () => {
    const path = await keypairFile('taken.json', 'precious');
    await assert.rejects(createSignerFile(path), /taken\.json exists already/);
    assert.equal(await readFile(path, 'utf8'), 'precious');
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.startsWith('taken')),
      ['taken.json'],
    );
  });

  it('creates one file for two simultaneous calls', async () => {
    const path = join(directory, 'raced.json');
    const results = await Promise.allSettled([createSignerFile(path), createSignerFile(path)]);
    const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    assert.deepEqual(addresses, [await readSignerAddress(path)]);
  });
});

describe('loadSigner', () => {
  it('signs with the key of the file', async () => {
    const { path, numbers } = await newKeypair('signs.json');
    const signer = await loadSigner(path);
    const { keyPair } = await createKeyPairSignerFromBytes(Uint8Array.from(numbers));
    const signature = await signBytes(keyPair.privateKey, Uint8Array.of(1));
    assert.ok(await verifySignature(await getPublicKeyFromAddress(signer.address), signature, Uint8Array.of(1)));
  });

  it('names a missing file', async () => {
    await assert.rejects(loadSigner(join(directory, 'absent.json')), /absent\.json does not exist/);
    await assert.rejects(readSignerAddress(join(directory, 'absent.json')), /absent\.json does not exist/);
  });

  it('names an unreadable file', async (t) => {
    const { path } = await newKeypair('closed.json');
    await chmod(path, 0);
    if (process.getuid?.() === 0) return t.skip('root reads every file');
    await assert.rejects(loadSigner(path), /closed\.json cannot be read/);
  });

  it('says how many numbers there are and how many are expected', async () => {
    const { numbers } = await newKeypair('whole.json');
    const path = await keypairFile('short.json', JSON.stringify(numbers.slice(0, 32)));
    await assert.rejects(loadSigner(path), /short\.json holds 32 numbers; a keypair has 64/);
  });

  for (const content of ['', 'not JSON', '{}', '["1"]', '[256]', '[-1]', '[1.5]', '"3vQB7B6MrGQZaxCuFg4oh"']) {
    it(`rejects ${content || 'an empty file'} without quoting it`, async () => {
      const path = await keypairFile('wrong.json', content);
      await assert.rejects(loadSigner(path), (error: Error) => {
        assert.match(error.message, /wrong\.json is not a JSON array of numbers from 0 to 255/);
        assert.equal(error.cause, undefined);
        return true;
      });
    });
  }

  it('rejects a public key that does not match the private key', async () => {
    const [one, two] = [await newKeypair('one.json'), await newKeypair('two.json')];
    const path = await keypairFile(
      'mixed.json',
      JSON.stringify([...one.numbers.slice(0, 32), ...two.numbers.slice(32)]),
    );
    await assert.rejects(loadSigner(path), /mixed\.json: its public key, numbers 33 to 64/);
  });
});
