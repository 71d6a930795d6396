import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pipelineSize } from '@flywheel/sdk';
import { type Address, generateKeyPairSigner, getProgramDerivedAddress } from '@solana/kit';
import { packRows, readCsv } from '../src/features/compose/airdrop-file.ts';

const DECIMALS = 6;
const MERGED = { decimals: DECIMALS, duplicates: 'merge' } as const;

describe('a CSV file of recipients', async () => {
  const addresses = await Promise.all(Array.from({ length: 20 }, async () => (await generateKeyPairSigner()).address));
  const [alice, bob] = addresses;

  it('is read with or without a first row of names, quotes, marks and empty lines', () => {
    const read = readCsv(`\uFEFFaddress,amount\r\n${alice},"1,000.5"\r\n\r\n"${bob}", 2 \r\n`, MERGED);
    assert.deepEqual(read.issues, []);
    assert.deepEqual(
      read.rows.map(({ lines, address, baseUnits }) => [lines, address, baseUnits]),
      [
        [[2], alice, 1_000_500_000n],
        [[4], bob, 2_000_000n],
      ],
    );
    assert.equal(read.totalBaseUnits, 1_002_500_000n);
  });

  it('has its issues named by row', () => {
    const text = [
      `nobody,1`,
      `${alice},`,
      `${alice},-1`,
      `${alice},0.0000001`,
      `${alice},0`,
      `${alice},1,x`,
      `${alice},1`,
    ].join('\n');
    const read = readCsv(text, MERGED);
    assert.deepEqual(
      read.issues.map(({ line }) => line),
      [1, 2, 3, 4, 5, 6],
    );
    assert.equal(read.rows.length, 1);
  });

  it('has repeated addresses added up and said', () => {
    const read = readCsv(`${alice},1\n${bob},2\n${alice},3.5`, MERGED);
    assert.deepEqual(read.repeated, [{ address: alice, lines: [1, 3] }]);
    assert.deepEqual(
      read.rows.map(({ baseUnits }) => baseUnits),
      [4_500_000n, 2_000_000n],
    );
  });

  it('has repeated addresses named by row where they are taken for a mistake', () => {
    const text = `${alice},1\n${bob},2\n${alice},3.5\n${alice},4`;
    const read = readCsv(text, { decimals: DECIMALS, duplicates: 'flag' });
    assert.deepEqual(read.issues, [
      { line: 3, text: 'repeats the address of row 1.' },
      { line: 4, text: 'repeats the address of row 1.' },
    ]);
  });

  it('has amounts refused that no JSON number carries, alone or added up', () => {
    const alone = readCsv(`${alice},1234567890.123456`, MERGED);
    assert.match(alone.issues[0]?.text ?? '', /1,234,567,890\.123456 has 16 significant digits/);
    const together = readCsv(`${alice},1234567890\n${bob},1\n${alice},0.000001`, MERGED);
    assert.deepEqual(together.issues, [
      { line: 1, text: 'and rows 3, added up: 1,234,567,890.000001 has 16 significant digits; an amount may have 15.' },
    ]);
    assert.deepEqual(readCsv(`${alice},100000000000000000`, MERGED).issues, []);
  });

  it('has addresses refused that are no wallet', async () => {
    const [vault] = await getProgramDerivedAddress({ programAddress: alice as Address, seeds: ['vault'] });
    assert.match(readCsv(`${vault},1`, MERGED).issues[0]?.text ?? '', /not of a wallet/);
  });

  it('is packed in order into pipelines that fit one transaction each', () => {
    const { rows } = readCsv(addresses.map((address) => `${address},1.25`).join('\n'), MERGED);
    const pipelines = packRows(rows, { type: 'SEASON_1', decimals: DECIMALS, source: { file: 'a.csv' }, token: {} });
    assert.deepEqual(
      pipelines.map(({ actions }) => actions.length),
      [7, 7, 6],
    );
    for (const pipeline of pipelines) assert.ok(pipelineSize(pipeline).share <= 1);
    const sent = pipelines.flatMap(({ actions }) => actions.map((action) => 'toAddress' in action && action.toAddress));
    assert.deepEqual(sent, addresses);
    assert.deepEqual(JSON.parse(pipelines[0]?.payload ?? ''), { file: 'a.csv', lines: [1, 2, 3, 4, 5, 6, 7] });
  });
});
