import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startLocalnet } from '../src/index.ts';
import { findSquadsProgram } from '../src/programs.ts';

test('a program file with other bytes than the deployed program is rejected, with both hashes', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-programs-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'squads_v4.so');
  await writeFile(path, 'something else');
  const bothHashes = /SHA-256 without trailing zeros is [0-9a-f]{64}, expected d4866083[0-9a-f]{56}\.$/;
  await assert.rejects(startLocalnet({ squadsProgram: path }), bothHashes);
  assert.throws(() => findSquadsProgram(undefined, directory), bothHashes);
});

test('a cluster without a program file runs the emulation and reports why', () => {
  const { program, note } = findSquadsProgram(undefined, '/nonexistent');
  assert.equal(program, 'emulation');
  assert.match(note, /emulated, because no file was named/);
});

test('a missing program file is named in the error', () => {
  assert.throws(() => findSquadsProgram('/nonexistent/squads.so'), /\/nonexistent\/squads.so cannot be read/);
});
