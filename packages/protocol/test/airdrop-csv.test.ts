import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ReadAirdropOptions,
  readAddressColumn,
  readAirdropCsv,
  readCsvCells,
  writeCsv,
} from '@flywheel/protocol/airdrop-csv';
import { generateKeyPairSigner } from '@solana/kit';
import fc from 'fast-check';

const [ALICE, BOB, CAROL] = await Promise.all([
  generateKeyPairSigner(),
  generateKeyPairSigner(),
  generateKeyPairSigner(),
]).then((signers) => signers.map(({ address }) => address));
/** An address off the curve: the Squads program's configuration. */
const PROGRAM_ACCOUNT = 'BSTq9w3kZwNwpBXJEvTZz2G9ZTNyKBvoSeXMvwb4cNZr';
const OPTIONS: ReadAirdropOptions = { decimals: 6, duplicates: 'refuse' };

describe('readAirdropCsv', () => {
  it('reads rows with or without a heading, quotes, a byte order mark and empty lines', () => {
    const { rows, issues, totalBaseUnits } = readAirdropCsv(
      `\uFEFFaddress,amount\r\n${ALICE},1.5\r\n\r\n "${BOB}" , "2" \r\n${CAROL},0.000001,\r\n`,
      OPTIONS,
    );
    assert.deepEqual(issues, []);
    assert.deepEqual(rows, [
      { lines: [2], address: ALICE, amount: '1.5', baseUnits: 1_500_000n },
      { lines: [4], address: BOB, amount: '2', baseUnits: 2_000_000n },
      { lines: [5], address: CAROL, amount: '0.000001', baseUnits: 1n },
    ]);
    assert.equal(totalBaseUnits, 3_500_001n);
    assert.deepEqual(readAirdropCsv(`${ALICE},1`, OPTIONS).issues, []);
  });

  it('accepts semicolons and tabs only if they separate the heading', () => {
    for (const delimiter of [';', '\t']) {
      const text = `Wallet${delimiter}Amount\n${ALICE}${delimiter}1.5\n`;
      assert.deepEqual(
        readAirdropCsv(text, OPTIONS).rows.map(({ amount }) => amount),
        ['1.5'],
      );
      assert.deepEqual(
        readAirdropCsv(`${ALICE}${delimiter}1.5\n`, OPTIONS).issues.map(({ line }) => line),
        [1],
      );
    }
    const decimalComma = readAirdropCsv(`address;amount\n${ALICE};1,5\n`, OPTIONS);
    assert.deepEqual(decimalComma.issues, [
      { line: 2, message: '“1,5” is not an amount: write digits with an optional decimal point, like 1500.25.' },
    ]);
  });

  it('names every invalid row by its line', () => {
    const lines = [
      `nobody,1`,
      `${ALICE},1,5`,
      `${ALICE},0`,
      `${ALICE},-1`,
      `${ALICE},1e3`,
      `${ALICE},"1,500"`,
      `${ALICE},1 500`,
      `${ALICE},1_500`,
      `${ALICE},1.`,
      `${ALICE},.5`,
      `${ALICE},0.0000001`,
      `${ALICE},123456789012.123456`,
      `${ALICE}`,
      `${PROGRAM_ACCOUNT},1`,
      `${BOB},1`,
      `${BOB},2`,
      `address,amount`,
      `"${CAROL},1`,
    ];
    const { rows, issues } = readAirdropCsv(lines.join('\n'), OPTIONS);
    assert.deepEqual(
      rows.map(({ address }) => address),
      [BOB],
    );
    assert.deepEqual(
      issues.map(({ line }) => line),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18],
    );
    const messages = new Map(issues.map(({ line, message }) => [line, message]));
    assert.equal(messages.get(1), '“nobody” is not a Solana address: enter 32 to 44 letters and digits.');
    assert.equal(messages.get(2), 'The row has 3 cells; it may have an address and an amount only.');
    assert.equal(messages.get(3), 'The amount is zero.');
    assert.match(messages.get(6) ?? '', /“1,500” is not an amount/);
    assert.equal(messages.get(11), '0.0000001 has more fraction digits than the token’s 6.');
    assert.match(messages.get(12) ?? '', /123,456,789,012\.123456 has 18 significant digits/);
    assert.match(messages.get(13) ?? '', /The amount is missing/);
    assert.match(messages.get(14) ?? '', /belongs to a program, not to a wallet/);
    assert.equal(messages.get(16), 'The address is already in line 15.');
    assert.match(messages.get(18) ?? '', /^The row is not valid CSV/);
  });

  /** One grammar for the command line and the console: each text with its amount, or null where the row is an issue. */
  const GRAMMAR: readonly (readonly [text: string, amount: string | null])[] = [
    [`${ALICE},1`, '1'],
    [`${ALICE},1500.25`, '1500.25'],
    [`${ALICE},0.000001`, '0.000001'],
    [`${ALICE},007.50`, '7.5'],
    [`${ALICE},1.500`, '1.5'],
    [`${ALICE},1,5`, null],
    [`${ALICE},"1,5"`, null],
    [`${ALICE},1.000,5`, null],
    [`${ALICE},"1.000,5"`, null],
    [`${ALICE},1,000.5`, null],
    [`${ALICE},1 000`, null],
    [`${ALICE},1\u00A0000`, null],
    [`${ALICE},1\u202F000`, null],
    [`${ALICE},1’000`, null],
    [`${ALICE},1_000`, null],
    [`${ALICE},1e3`, null],
    [`${ALICE},1E3`, null],
    [`${ALICE},0x10`, null],
    [`${ALICE},+1`, null],
    [`${ALICE},-1`, null],
    [`${ALICE},1.`, null],
    [`${ALICE},.5`, null],
    [`${ALICE},1.2.3`, null],
    [`${ALICE},Infinity`, null],
    [`${ALICE},NaN`, null],
    [`${ALICE},٣`, null],
    [`${ALICE},१`, null],
    [`${ALICE},１`, null],
    [`${ALICE},²`, null],
    [`${ALICE},$1`, null],
    [`${ALICE},1%`, null],
    [`${ALICE};1`, null],
    [`${ALICE}\t1`, null],
    [`${ALICE}|1`, null],
    [`address;amount\n${ALICE};1.5`, '1.5'],
    [`address;amount\n${ALICE};1,5`, null],
    [`address;amount\n${ALICE},1`, null],
    [`address\tamount\n${ALICE}\t1.5`, '1.5'],
    [`address\tamount\n${ALICE}\t1,5`, null],
    [`address,amount\n${ALICE};1`, null],
    [`address|amount\n${ALICE}|1`, null],
    [`address,amount;note\n${ALICE},1`, '1'],
  ];

  for (const [text, amount] of GRAMMAR) {
    const outcome = amount === null ? 'names the row of' : `reads ${amount} from`;
    it(`${outcome} ${JSON.stringify(text.replaceAll(ALICE ?? '', 'ALICE'))}`, () => {
      const { rows, issues } = readAirdropCsv(text, OPTIONS);
      assert.deepEqual(
        rows.map((row) => row.amount),
        amount === null ? [] : [amount],
      );
      const last = text.split('\n').length;
      assert.equal(issues.at(-1)?.line, amount === null ? last : undefined, JSON.stringify(issues));
    });
  }

  it('counts lines, not rows, where a quoted cell contains line breaks', () => {
    const { issues } = readAirdropCsv(`"a\nb",1\n${ALICE},x\n`, OPTIONS);
    assert.deepEqual(
      issues.map(({ line }) => line),
      [1, 3],
    );
  });

  it('merges, keeps or rejects rows of one address', () => {
    const csv = `${ALICE},1\n${BOB},5\n${ALICE},0.25\n`;
    const read = (duplicates: ReadAirdropOptions['duplicates']) => readAirdropCsv(csv, { decimals: 6, duplicates });
    const shownOf = ({ rows }: ReturnType<typeof read>) => rows.map(({ lines, amount }) => [lines, amount]);
    assert.deepEqual(shownOf(read('merge')), [
      [[1, 3], '1.25'],
      [[2], '5'],
    ]);
    assert.deepEqual(shownOf(read('keep')), [
      [[1], '1'],
      [[2], '5'],
      [[3], '0.25'],
    ]);
    assert.deepEqual(read('refuse').issues, [{ line: 3, message: 'The address is already in line 1.' }]);
    assert.equal(read('merge').totalBaseUnits, read('keep').totalBaseUnits);
    for (const duplicates of ['merge', 'keep', 'refuse'] as const) {
      assert.deepEqual(read(duplicates).repeated, [{ address: ALICE, lines: [1, 3] }]);
    }
  });

  it('rejects a sum that a JSON number cannot hold', () => {
    const merged = readAirdropCsv(`${ALICE},1234567890\n${BOB},1\n${ALICE},0.000001`, {
      decimals: 6,
      duplicates: 'merge',
    });
    assert.deepEqual(merged.issues, [
      {
        line: 1,
        message:
          'With the amount of line 3 added, 1,234,567,890.000001 has 16 significant digits; an amount may have 15.',
      },
    ]);
    assert.deepEqual(readAirdropCsv(`${ALICE},100000000000000000`, OPTIONS).issues, []);
  });

  it('checks no address against the curve in a file with more rows than the given limit', () => {
    const csv = `${PROGRAM_ACCOUNT},1\n${ALICE},1\n`;
    assert.equal(readAirdropCsv(csv, { ...OPTIONS, maxCurveChecks: 1 }).issues.length, 0);
    assert.equal(readAirdropCsv(csv, { ...OPTIONS, maxCurveChecks: 2 }).issues.length, 1);
  });
});

describe('readAddressColumn', () => {
  it('reads the first cells without empty ones, and skips each heading that readAirdropCsv skips', () => {
    for (const heading of ['address', 'Wallet', 'recipient', '"to"', 'to_address', 'owner']) {
      const csv = `${heading},note\n${ALICE},first\n\n"${BOB}"\n`;
      assert.deepEqual(readAddressColumn(csv), [ALICE, BOB], heading);
      assert.equal(readAirdropCsv(`${heading},amount\n${ALICE},1\n`, OPTIONS).issues.length, 0, heading);
    }
    assert.deepEqual(readAddressColumn(`name\n${ALICE}`), ['name', ALICE]);
    assert.deepEqual(readAddressColumn(`${ALICE}\nowner`), [ALICE, 'owner']);
    assert.deepEqual(readAddressColumn(''), []);
  });
});

describe('writeCsv', () => {
  it('writes cells that readCsvCells reads back', () => {
    const cells = ['a', 'with, comma', 'with "quotes"', '', 'z'];
    assert.deepEqual(readCsvCells(writeCsv([cells, cells])), [cells, cells]);
    // Readers skip a row of one empty cell as an empty line.
    const cell = fc.string().map((text) => text.trim().replaceAll('\r', '').replace(/^"|"$/g, ''));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, fc.constant('x'), cell), { minLength: 1 }), (rows) => {
        assert.deepEqual(
          readCsvCells(writeCsv(rows, '\r\n')),
          rows.map((row) => row.map((text) => text.trim())),
        );
      }),
    );
  });
});
