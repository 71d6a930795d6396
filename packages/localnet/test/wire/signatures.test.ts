import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { type Address, type Blockhash, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import fc from 'fast-check';
import { createSignatureVerifier } from '../../src/wire/signatures.ts';
import { parseWireTransaction, type WireTransaction, WireTransactionError } from '../../src/wire/wire-transaction.ts';
import { signedWire, V1_CONFIG, VERSIONS, type Version } from './signed-wire.ts';

const TABLE = 'AddressLookupTab1e1111111111111111111111111' as Address;
const BLOCKHASH = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Blockhash;

const verifier = createSignatureVerifier();
after(() => verifier.close());
const [payer, stranger] = [await generateKeyPairSigner(), await generateKeyPairSigner()];
const others = await Promise.all(Array.from({ length: 3 }, generateKeyPairSigner));

for (const version of VERSIONS) {
  for (const signers of [[payer], [payer, ...others]]) {
    test(`version ${version} with ${signers.length} signatures: valid ones are accepted, and one wrong bit is rejected`, async () => {
      const wire = await sign(version, signers);
      const right = parseWireTransaction(wire);
      assert.equal(right.lookups.length, version === 0 ? 1 : 0);
      assert.equal(await verifier.verify(right), true);
      await fc.assert(
        fc.asyncProperty(fc.nat(wire.length - 1), fc.nat(7), async (index, bit) => {
          const damaged = wire.slice();
          damaged[index] = (wire[index] ?? 0) ^ (1 << bit);
          const transaction = readable(damaged);
          if (transaction) assert.equal(await verifier.verify(transaction), false);
        }),
        { numRuns: 150 },
      );
    });
  }

  test(`version ${version}: missing and exchanged signatures are rejected`, async () => {
    const right = parseWireTransaction(await sign(version, [payer, ...others]));
    const [first = null, second = null, ...rest] = right.signatures;
    assert.equal(await verifier.verify({ ...right, signatures: [first, null, ...rest] }), false);
    assert.equal(await verifier.verify({ ...right, signatures: [second, first, ...rest] }), false);
  });
}

test('simultaneous verifications each get their own result', async () => {
  const right = parseWireTransaction(await sign(0, [payer]));
  const wrong = {
    ...right,
    signatures: parseWireTransaction(await sign(0, [payer, ...others])).signatures.slice(0, 1),
  };
  const asked = Array.from({ length: 50 }, (_, index) => index % 3 !== 0);
  const verdicts = await Promise.all(asked.map((isRight) => verifier.verify(isRight ? right : wrong)));
  assert.deepEqual(verdicts, asked);
});

test('a verifier can be closed while its thread starts, and twice', async () => {
  const early = createSignatureVerifier();
  await early.close();
  await early.close();
});

test('a thread loads no native code but LiteSVM’s', () => {
  const program = async (url: string) => {
    const { createSignatureVerifier: create }: typeof import('../../src/wire/signatures.ts') = await import(url);
    const unsigned = { transaction: { messageBytes: new Uint8Array() }, signatures: [new Uint8Array(64)] };
    const alone = create();
    await alone.verify({ ...unsigned, addressesOffset: 0 } as never);
    const { sharedObjects } = process.report.getReport() as { readonly sharedObjects: readonly string[] };
    process.stdout.write(sharedObjects.filter((path) => path.endsWith('.node')).join());
    await alone.close();
  };
  const { href } = new URL('../../src/wire/signatures.ts', import.meta.url);
  const script = `(${program})(${JSON.stringify(href)})`;
  assert.match(execFileSync(process.execPath, ['--eval', script], { encoding: 'utf8' }), /^[^,]*litesvm[^,]*$/);
});

/** Builds transfers to a stranger by each signer; version 0 finds the stranger in a table. */
function sign(version: Version, signers: readonly KeyPairSigner[]): Promise<Uint8Array> {
  const instructions = signers.map((source) =>
    getTransferSolInstruction({ source, destination: stranger.address, amount: 1n }),
  );
  const tables = { [TABLE]: [stranger.address] };
  return signedWire(payer, instructions, { version, blockhash: BLOCKHASH, tables, config: V1_CONFIG });
}

function readable(bytes: Uint8Array): WireTransaction | null {
  try {
    return parseWireTransaction(bytes);
  } catch (error) {
    if (error instanceof WireTransactionError) return null;
    throw error;
  }
}
