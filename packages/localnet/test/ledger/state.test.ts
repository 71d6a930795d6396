import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { MAX_SIGNATURE_STATUSES } from '@flywheel/protocol';
import { type Address, address, isSignature, type Signature } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { startLocalnet } from '../../src/index.ts';
import { SOL, startCluster, useCluster } from '../cluster.ts';

/** Each process is killed when this number of its transactions was seen processed. */
const PROCESSED_BEFORE_KILL = [9, 50, 101];

test('processed transactions of several senders survive SIGKILL, and a second one', async (t) => {
  const stateDirectory = await temporaryDirectory(t);
  const processed: Signature[] = [];
  const confirmed: Signature[] = [];
  let recipient: Address | null = null;
  for (const count of PROCESSED_BEFORE_KILL) {
    const told = await runUntilKilled(t, { stateDirectory, recipient, count });
    recipient = told.recipient;
    processed.push(...told.processed);
    confirmed.push(...told.confirmed);
  }
  assert.ok(recipient && confirmed.length > 0);
  const { rpc, balance } = await startCluster(t, { stateDirectory, squadsProgram: 'emulation' });
  for (const signatures of [processed, confirmed]) {
    for (let start = 0; start < signatures.length; start += MAX_SIGNATURE_STATUSES) {
      const page = signatures.slice(start, start + MAX_SIGNATURE_STATUSES);
      const { value } = await rpc.getSignatureStatuses(page).send();
      assert.deepEqual(
        value.map((status) => status?.err),
        page.map(() => null),
      );
    }
  }
  const transactions = await rpc.getSignaturesForAddress(recipient, { commitment: 'confirmed' }).send();
  assert.ok(transactions.length >= processed.length);
  assert.equal(await balance(recipient), BigInt(transactions.length) * SOL);
});

test('a restarted cluster keeps accounts, history, blockhashes and mints, and repeats no transaction', async (t) => {
  const stateDirectory = await temporaryDirectory(t);
  const first = await startLocalnet({ stateDirectory, squadsProgram: 'emulation', slotMs: 0 });
  const before = useCluster(first);
  const [payer, recipient] = [await before.wallet(), await before.wallet(0n)];
  const mint = await first.bank.createMint(6, false);
  const sendAll = getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL });
  const landed = await before.sign(payer, [sendAll]);
  await before.submit(landed.wire);
  const emptied = await before.wallet(SOL);
  await before.send(payer, [
    getTransferSolInstruction({ source: emptied, destination: recipient.address, amount: SOL }),
  ]);
  await first.warp({ slots: 5n, seconds: 1000n });
  const waiting = await before.sign(payer, [
    getTransferSolInstruction({ source: payer, destination: recipient.address, amount: 2n * SOL }),
  ]);
  const slot = await before.rpc.getSlot({ commitment: 'processed' }).send();
  const time = await before.rpc.getBlockTime(slot).send();
  await first.stop();

  const after = await startCluster(t, { stateDirectory, squadsProgram: 'emulation' });
  const resumed = await after.rpc.getSlot({ commitment: 'processed' }).send();
  assert.equal(resumed, slot + 1n);
  assert.ok(Number(await after.rpc.getBlockTime(resumed).send()) >= Number(time));
  assert.equal(await after.balance(recipient.address), 2n * SOL);
  assert.equal((await after.rpc.getAccountInfo(emptied.address, { encoding: 'base64' }).send()).value, null);
  await assert.rejects(after.submit(landed.wire), /simulation failed/);
  await after.submit(waiting.wire);
  assert.equal(await after.balance(recipient.address), 4n * SOL);
  await after.localnet.bank.mintTo(mint, recipient.address, 5n);
  const transaction = await after.rpc
    .getTransaction(landed.signature, { encoding: 'base64', maxSupportedTransactionVersion: 0 })
    .send();
  assert.equal(transaction?.transaction[0], landed.wire);
});

test('a second process cannot use the same state, and reports that', async (t) => {
  const stateDirectory = await temporaryDirectory(t);
  await startCluster(t, { stateDirectory, squadsProgram: 'emulation' });
  await assert.rejects(startLocalnet({ stateDirectory, squadsProgram: 'emulation' }), /another process/);
});

interface Run {
  readonly stateDirectory: string;
  /** Recipient of the transfers; null lets the first process choose one. */
  readonly recipient: Address | null;
  readonly count: number;
}

async function runUntilKilled(t: TestContext, { stateDirectory, recipient: known, count }: Run) {
  const script = join(import.meta.dirname, 'state-child.ts');
  const child = spawn(process.execPath, [script, stateDirectory, ...(known ? [known] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let recipient = known;
  const processed: Signature[] = [];
  const confirmed: Signature[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line of a killed process may be incomplete.
    const [word, text = ''] = line.split(' ');
    if (word === 'recipient') recipient = address(text);
    if (word === 'processed' && isSignature(text)) processed.push(text);
    if (word === 'confirmed' && isSignature(text)) confirmed.push(text);
    if (processed.length === count) child.kill('SIGKILL');
  }
  await exited;
  return { recipient, processed, confirmed };
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-localnet-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
