import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pipelineSize } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { keyOfPart, planAirdrop } from '../src/commands/airdrop/plan.ts';
import { readRows } from '../src/commands/airdrop/rows.ts';
import { joinCells, splitCells } from '../src/commands/airdrop/split-cells.ts';

const [ALICE = '', BOB = '', CAROL = ''] = await Promise.all(
  Array.from({ length: 3 }, async () => (await generateKeyPairSigner()).address),
);
/** The token program’s own associated account of nobody: on no curve. */
const PROGRAM_ACCOUNT = 'BSTq9w3kZwNwpBXJEvTZz2G9ZTNyKBvoSeXMvwb4cNZr';
const OPTIONS = { decimals: 6, duplicates: 'refuse' } as const;

describe('rows of a CSV file', () => {
  it('are read with or without a heading, quotes, a byte order mark and empty lines', () => {
    const { rows, faults, totalBaseUnits } = readRows(
      `\uFEFFaddress,amount\r\n${ALICE},1.5\r\n\r\n "${BOB}" , "2" \r\n${CAROL},0.000001,\r\n`,
      OPTIONS,
    );
    assert.deepEqual(faults, []);
    assert.deepEqual(rows, [
      { lines: [2], address: ALICE, amount: '1.5' },
      { lines: [4], address: BOB, amount: '2' },
      { lines: [5], address: CAROL, amount: '0.000001' },
    ]);
    assert.equal(totalBaseUnits, 3_500_001n);
  });

  it('that are wrong are all named, each by its line', () => {
    const lines = [
      `nobody,1`,
      `${ALICE},1,5`,
      `${ALICE},0`,
      `${ALICE},-1`,
      `${ALICE},1e3`,
      `${ALICE},"1,500"`,
      `${ALICE},0.0000001`,
      `${ALICE},123456789012.123456`,
      `${ALICE}`,
      `${PROGRAM_ACCOUNT},1`,
      `${BOB},1`,
      `${BOB},2`,
      `address,amount`,
    ];
    const { rows, faults } = readRows(lines.join('\n'), OPTIONS);
    assert.deepEqual(
      rows.map(({ address }) => address),
      [BOB],
    );
    assert.deepEqual(
      faults.map(({ line }) => line),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13],
    );
    const messages = new Map(faults.map(({ line, message }) => [line, message]));
    assert.equal(messages.get(1), '“nobody” is no base58 address of 32 bytes.');
    assert.equal(messages.get(2), 'has 3 cells; it takes address,amount.');
    assert.equal(messages.get(3), '0 tokens: an amount is greater than zero.');
    assert.equal(messages.get(6), '“1,500” is no amount: write whole tokens plainly, like 1500.25.');
    assert.equal(messages.get(7), '0.0000001 has more fraction digits than the token’s 6.');
    assert.match(messages.get(8) ?? '', /18 significant digits/);
    assert.match(messages.get(10) ?? '', /belongs to a program, not to a wallet/);
    assert.match(messages.get(12) ?? '', /repeats the address of line 11\./);
  });

  it('of one address are added up, or kept apart, as asked', () => {
    const csv = `${ALICE},1\n${BOB},5\n${ALICE},0.25\n`;
    const merged = readRows(csv, { decimals: 6, duplicates: 'merge' });
    assert.deepEqual(merged.rows, [
      { lines: [1, 3], address: ALICE, amount: '1.25' },
      { lines: [2], address: BOB, amount: '5' },
    ]);
    const kept = readRows(csv, { decimals: 6, duplicates: 'keep' });
    assert.deepEqual(
      kept.rows.map(({ amount }) => amount),
      ['1', '5', '0.25'],
    );
    assert.equal(merged.totalBaseUnits, kept.totalBaseUnits);
  });

  it('survive being written and read again', () => {
    const cells = ['a', 'with, comma', 'with "quotes"', '', 'z'];
    assert.deepEqual(splitCells(joinCells(cells).trimEnd()), cells);
    assert.deepEqual(splitCells(''), ['']);
    assert.deepEqual(splitCells(','), ['', '']);
  });
});

describe('the plan of an airdrop', () => {
  const plan = (rows: readonly string[], round = '') =>
    planAirdrop(
      rows.map((address, i) => ({ lines: [i + 1], address, amount: '1' })),
      { type: 'SEASON', round, token: {}, pipelinesPerBatch: 2 },
    );

  it('packs every row once, in order, into pipelines that fit and batches that are taken', async () => {
    const addresses = await Promise.all(
      Array.from({ length: 40 }, async () => (await generateKeyPairSigner()).address),
    );
    const { parts } = plan(addresses);
    const planned = parts.flat();
    assert.deepEqual(
      planned.flatMap(({ rows }) => rows),
      addresses.map((_, i) => i),
    );
    assert.deepEqual(
      planned.flatMap(({ pipeline }) => pipeline.actions.map((action) => 'toAddress' in action && action.toAddress)),
      addresses,
    );
    assert.ok(planned.every(({ pipeline }) => pipelineSize(pipeline).share <= 1));
    assert.ok(parts.every((part, i) => part.length === 2 || i === parts.length - 1));
    assert.ok(parts.length > 2);
  });

  it('has keys that follow from rows, type, round, batch and attempt, and from nothing else', async () => {
    const { identity } = plan([ALICE, BOB]);
    const same = await keyOfPart(plan([ALICE, BOB]).identity, 0, 0);
    assert.equal(await keyOfPart(identity, 0, 0), same);
    assert.match(same, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const others = await Promise.all([
      keyOfPart(plan([BOB, ALICE]).identity, 0, 0),
      keyOfPart(plan([ALICE, BOB], 'two').identity, 0, 0),
      keyOfPart({ ...identity, type: 'OTHER' }, 0, 0),
      keyOfPart(identity, 1, 0),
      keyOfPart(identity, 0, 1),
    ]);
    assert.equal(new Set([same, ...others]).size, 6);
  });
});
