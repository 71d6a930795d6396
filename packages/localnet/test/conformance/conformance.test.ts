import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { startLocalnet } from '../../src/index.ts';
import { readAnswers } from './answers.ts';
import { describes, findMismatches, type Mismatch } from './compare.ts';
import { DIFFERENCES } from './differences.ts';
import { askEverything } from './script.ts';

/** Enough for the table of lookup tables: its program needs the hash of an earlier slot. */
const FIRST_SLOTS = 40n;

describe('the local cluster answers as Agave does', () => {
  let mismatches: readonly Mismatch[] = [];

  before(async () => {
    const localnet = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation' });
    try {
      await localnet.warp({ slots: FIRST_SLOTS });
      const { url, websocketUrl, warp } = localnet;
      mismatches = findMismatches(await askEverything({ url, websocketUrl, pass: () => warp() }), await readAnswers());
    } finally {
      await localnet.stop();
    }
  });

  test('to every call of the script, but for the listed differences', () => {
    assert.deepEqual(
      mismatches.filter((mismatch) => !DIFFERENCES.some((difference) => describes(difference, mismatch))),
      [],
    );
  });

  test('and every listed difference is there', () => {
    const gone = DIFFERENCES.filter((difference) => !mismatches.some((mismatch) => describes(difference, mismatch)));
    assert.deepEqual(
      gone.map(({ what }) => what),
      [],
    );
  });

  test('and docs/localnet.md lists them', async () => {
    const page = await readFile(new URL('../../../../docs/localnet.md', import.meta.url), 'utf8');
    for (const { what, reason } of DIFFERENCES) assert.ok(page.includes(`| ${what} | ${reason} |`), what);
  });
});
