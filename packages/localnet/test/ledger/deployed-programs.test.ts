import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  AccountRole,
  type Address,
  address,
  type Commitment,
  generateKeyPairSigner,
  getAddressEncoder,
  getProgramDerivedAddress,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import { startLocalnet } from '../../src/index.ts';
import { type Cluster, startCluster, useCluster } from '../cluster.ts';

const LOADER = address('BPFLoaderUpgradeab1e11111111111111111111111');
/** Its account holds the ELF file itself. */
const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const BUFFER_HEADER_BYTES = 37;
const PROGRAM_BYTES = 36;
/** Code that fits a transaction beside the other parts of a write. */
const WRITE_BYTES = 900;

test('a deployed program is unknown to older banks, and still runs after a simulation there', async (t) => {
  const cluster = await startCluster(t);
  const program = await deploy(cluster, await cluster.wallet());
  assert.equal(await run(cluster, program), 'Memo');
  assert.equal(await run(cluster, program, 'finalized'), 'ProgramAccountNotFound');
  assert.equal(await run(cluster, program), 'Memo');
  await cluster.localnet.warp({ slots: 40n });
  assert.equal(await run(cluster, program, 'finalized'), 'Memo');
});

test('a deployed program is unknown after a fork without its deployment', async (t) => {
  const cluster = await startCluster(t);
  const payer = await cluster.wallet();
  await cluster.localnet.warp({ slots: 40n });
  const program = await deploy(cluster, payer);
  assert.equal(await run(cluster, program), 'Memo');
  cluster.localnet.fork({ slots: 3n });
  assert.equal(await run(cluster, program), 'ProgramAccountNotFound');
});

test('a deployed program runs after a restart', async (t) => {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'flywheel-localnet-'));
  t.after(() => rm(stateDirectory, { recursive: true, force: true }));
  const first = await startLocalnet({ stateDirectory, squadsProgram: 'emulation', slotMs: 0 });
  const before = useCluster(first);
  const program = await deploy(before, await before.wallet());
  await first.stop();
  assert.equal(await run(await startCluster(t, { stateDirectory }), program), 'Memo');
});

test('an upgraded program runs its old code in older banks, and a simulated upgrade changes nothing', async (t) => {
  const cluster = await startCluster(t);
  const payer = await cluster.wallet();
  const program = await deploy(cluster, payer);
  await cluster.localnet.warp({ slots: 40n });
  const buffer = await writeBuffer(cluster, payer, 'Note');
  const upgrade = await upgradeInstruction(program, buffer, payer);
  const { wire } = await cluster.sign(payer, [upgrade]);
  const { value } = await cluster.rpc.simulateTransaction(wire, { encoding: 'base64', commitment: 'processed' }).send();
  assert.equal(value.err, null);
  assert.equal(await run(cluster, program), 'Memo');
  await cluster.submit(wire);
  assert.equal(await run(cluster, program), 'Note');
  assert.equal(await run(cluster, program, 'confirmed'), 'Memo');
  assert.equal(await run(cluster, program), 'Note');
});

test('a closed program cannot be called', async (t) => {
  const cluster = await startCluster(t);
  const payer = await cluster.wallet();
  // The order of the two accounts in the transaction is that of their addresses, so that one program would not do.
  for (let count = 0; count < 6; count += 1) {
    const program = await deploy(cluster, payer);
    const authority = { address: payer.address, role: AccountRole.READONLY_SIGNER };
    const accounts = [writable(await codeAddress(program)), writable(payer.address), authority, writable(program)];
    await cluster.send(payer, [loaderInstruction(accounts, [u32(5)])]);
    assert.deepEqual(await run(cluster, program), { InstructionError: [0n, 'UnsupportedProgramId'] });
  }
});

/** Simulates a call of the program; returns the first word that it logs, or its error. */
async function run({ wallet, sign, rpc }: Cluster, programAddress: Address, commitment: Commitment = 'processed') {
  const { wire } = await sign(await wallet(), [{ programAddress, data: new TextEncoder().encode('hello') }]);
  const config = { encoding: 'base64', commitment, replaceRecentBlockhash: true } as const;
  const { value } = await rpc.simulateTransaction(wire, config).send();
  return value.err ?? /Program log: (\w+)/.exec(value.logs?.join() ?? '')?.[1];
}

/** Deploys the memo program at a new address, with the upgradeable loader. */
async function deploy(cluster: Cluster, payer: KeyPairSigner): Promise<Address> {
  const buffer = await writeBuffer(cluster, payer, 'Memo');
  const program = await generateKeyPairSigner();
  const code = (await readMemoProgram(cluster)).length;
  await cluster.send(payer, [
    await createAccount(cluster, payer, program, PROGRAM_BYTES),
    loaderInstruction(
      [
        { address: payer.address, role: AccountRole.WRITABLE_SIGNER },
        writable(await codeAddress(program.address)),
        writable(program.address),
        writable(buffer),
        readonly('SysvarRent111111111111111111111111111111111'),
        readonly('SysvarC1ock11111111111111111111111111111111'),
        readonly('11111111111111111111111111111111'),
        { address: payer.address, role: AccountRole.READONLY_SIGNER },
      ],
      [u32(2), u64(code)],
    ),
  ]);
  await cluster.localnet.warp();
  return program.address;
}

async function upgradeInstruction(program: Address, buffer: Address, payer: KeyPairSigner): Promise<Instruction> {
  return loaderInstruction(
    [
      writable(await codeAddress(program)),
      writable(program),
      writable(buffer),
      writable(payer.address),
      readonly('SysvarRent111111111111111111111111111111111'),
      readonly('SysvarC1ock11111111111111111111111111111111'),
      { address: payer.address, role: AccountRole.READONLY_SIGNER },
    ],
    [u32(3)],
  );
}

/** Writes the memo program, which logs a word of four letters first, to a buffer. */
async function writeBuffer(cluster: Cluster, payer: KeyPairSigner, word: string): Promise<Address> {
  const code = await readMemoProgram(cluster);
  code.write(word, code.indexOf('Memo'));
  const buffer = await generateKeyPairSigner();
  await cluster.send(payer, [
    await createAccount(cluster, payer, buffer, BUFFER_HEADER_BYTES + code.length),
    loaderInstruction([writable(buffer.address), readonly(payer.address)], [u32(0)]),
  ]);
  for (let offset = 0; offset < code.length; offset += WRITE_BYTES) {
    const part = code.subarray(offset, offset + WRITE_BYTES);
    const authority = { address: payer.address, role: AccountRole.READONLY_SIGNER };
    const data = [u32(1), u32(offset), u64(part.length), part];
    await cluster.send(payer, [loaderInstruction([writable(buffer.address), authority], data)]);
  }
  await cluster.localnet.warp();
  return buffer.address;
}

async function readMemoProgram({ rpc }: Cluster): Promise<Buffer> {
  const { value } = await rpc.getAccountInfo(MEMO_PROGRAM, { encoding: 'base64' }).send();
  return Buffer.from(value?.data[0] ?? '', 'base64');
}

async function createAccount({ rpc }: Cluster, payer: KeyPairSigner, newAccount: KeyPairSigner, space: number) {
  const lamports = await rpc.getMinimumBalanceForRentExemption(BigInt(space)).send();
  return getCreateAccountInstruction({ payer, newAccount, lamports, space, programAddress: LOADER });
}

async function codeAddress(program: Address): Promise<Address> {
  const seeds = [getAddressEncoder().encode(program)];
  return (await getProgramDerivedAddress({ programAddress: LOADER, seeds }))[0];
}

function loaderInstruction(accounts: NonNullable<Instruction['accounts']>, data: readonly Buffer[]): Instruction {
  return { programAddress: LOADER, accounts, data: Buffer.concat(data) };
}

function writable(account: Address) {
  return { address: account, role: AccountRole.WRITABLE };
}

function readonly(account: string) {
  return { address: address(account), role: AccountRole.READONLY };
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
