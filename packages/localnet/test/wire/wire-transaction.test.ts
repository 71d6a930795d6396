import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Address,
  type Blockhash,
  generateKeyPairSigner,
  getAddressEncoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Instruction,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import fc from 'fast-check';
import { parseWireTransaction, WireTransactionError, withLifetime } from '../../src/wire/wire-transaction.ts';
import { SOL, startCluster } from '../cluster.ts';
import { createTable } from '../lookup-table.ts';
import { signedWire, V1_CONFIG, VERSIONS } from './signed-wire.ts';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;
const TABLE = 'AddressLookupTab1e1111111111111111111111111' as Address;
const OTHER_BLOCKHASH = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Blockhash;

for (const version of VERSIONS) {
  test(`version ${version}: equals kit’s reading, and the blockhash can be exchanged`, async () => {
    const [payer, recipient] = [await generateKeyPairSigner(), await generateKeyPairSigner()];
    const instructions = [
      getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL }),
      memo('x'.repeat(200)),
    ];
    const tables = { [TABLE]: [recipient.address] };
    const blockhash = OTHER_BLOCKHASH;
    const wire = await signedWire(payer, instructions, { version, blockhash, tables, config: V1_CONFIG });
    const parsed = parseWireTransaction(wire);
    const decoded = getTransactionDecoder().decode(wire);
    const message = getCompiledTransactionMessageDecoder().decode(decoded.messageBytes);
    assert.equal(parsed.version, version);
    assert.deepEqual({ ...parsed.transaction.signatures }, { ...decoded.signatures });
    assert.deepEqual(parsed.header, message.header);
    assert.deepEqual(parsed.staticAddresses, message.staticAccounts);
    assert.equal(parsed.lifetimeToken, OTHER_BLOCKHASH);
    assert.equal(parsed.instructions.length, 2);
    assert.deepEqual(Buffer.from(parsed.instructions[1]?.data ?? []).toString(), 'x'.repeat(200));
    assert.equal(parsed.lookups.length, version === 0 ? 1 : 0);
    const exchanged = withLifetime(parsed, new Uint8Array(getAddressEncoder().encode(recipient.address))); // any 32 bytes are valid
    const reread = getCompiledTransactionMessageDecoder().decode(exchanged.messageBytes);
    assert.deepEqual(reread, { ...message, lifetimeToken: recipient.address });
  });
}

test('damaged transactions of every version are rejected or executed, and the process continues', async (t) => {
  const cluster = await startCluster(t);
  const [payer, other] = [await cluster.wallet(1000n * SOL), await cluster.wallet()];
  const tables = await createTable(cluster, payer, [other.address]);
  const { value } = await cluster.rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
  const instructions = [
    getTransferSolInstruction({ source: payer, destination: other.address, amount: 10n }),
    memo('damage'),
  ];
  const options = { blockhash: value.blockhash, tables, config: V1_CONFIG };
  const wires = await Promise.all(VERSIONS.map((version) => signedWire(payer, instructions, { version, ...options })));
  const damage = fc.record({
    wire: fc.constantFrom(...wires),
    edits: fc.array(fc.record({ at: fc.nat(), value: fc.oneof(fc.nat(12), fc.nat(255)) }), {
      minLength: 1,
      maxLength: 4,
    }),
    cut: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -8, max: 64 })),
  });
  let readable = 0;
  await fc.assert(
    fc.asyncProperty(damage, async ({ wire, edits, cut }) => {
      const damaged = Buffer.concat([wire, Buffer.alloc(8)]);
      for (const { at, value: byte } of edits) damaged.writeUInt8(byte, at % wire.length);
      const bytes = damaged.subarray(0, wire.length - cut);
      readable += isReadable(bytes) ? 1 : 0;
      const text = bytes.toString('base64');
      for (const [method, config] of [
        ['simulateTransaction', { encoding: 'base64', replaceRecentBlockhash: true }],
        ['sendTransaction', { encoding: 'base64' }],
      ] as const) {
        const { error } = await cluster.call(method, [text, config]);
        assert.notEqual(error?.code, -32603);
      }
    }),
    { numRuns: 600 },
  );
  assert.ok(readable > 100, `only ${readable} of 600 were readable`);
  assert.equal(await cluster.rpc.getHealth().send(), 'ok');
});

function isReadable(bytes: Uint8Array): boolean {
  try {
    parseWireTransaction(bytes);
    return true;
  } catch (error) {
    if (error instanceof WireTransactionError) return false;
    throw error;
  }
}

function memo(text: string): Instruction {
  return { programAddress: MEMO_PROGRAM, data: new TextEncoder().encode(text) };
}
