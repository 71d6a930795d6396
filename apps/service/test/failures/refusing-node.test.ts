import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { instantClock } from '@flywheel/testing/clock';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { newBundle, SIGNED_TX, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { getBase58Decoder, type Signature, signature } from '@solana/kit';
import type { RunDeps, WorkerDeps } from '../../src/batches/deps.ts';
import { completeLedger, judgeLedger } from '../../src/batches/jobs/complete-ledger.ts';
import { isFinalForAll } from '../../src/batches/jobs/finality.ts';
import type { TransactionCosts } from '../../src/solana/answers.ts';
import type { SignatureOutcome, SignatureOutcomes } from '../../src/solana/chain.ts';
import { insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { findLedgerEntries, insertLedgerEntries } from '../../src/store/batches/ledger.ts';

const { db } = await openTestDatabase();
await storeNonces(db, 3);

test('a node that refuses some of many requests delays the ledger of a large batch: each attempt comes further', async () => {
  const project = await storeProject(db);
  const { operator } = project.flywheel.multisig;
  const batch = await storeBatch(db, project);
  for (let bundles = 0; bundles < 8; bundles += 1) {
    const signatures = Array.from({ length: 5 }, () => signature(getBase58Decoder().decode(randomBytes(64))));
    const transactions = signatures.map(() => SIGNED_TX);
    const { id } = await insertBundle(db, newBundle(batch, { signatures, transactions, tipLamports: 0n }));
    await settleBundle(db, id, 'landed', { signatures, slot: 1n }, new Date());
  }
  const costs = { feePayer: operator, feeLamports: 5_000n, changes: new Map([[operator, -5_000n]]), failed: false };
  let [left, asked, most] = [0, 0, 0];
  const chain = {
    finalizedBlock: async () => ({ slot: 1n, blockHeight: 1n }),
    signatureOutcomes: async () => ({ contextSlot: 1n, outcomes: [] }),
    transactionCosts: async (): Promise<TransactionCosts> => {
      asked += 1;
      most = Math.max(most, asked);
      await Promise.resolve();
      asked -= 1;
      left -= 1;
      if (left < 0) throw new Error('getTransaction: HTTP 429');
      return costs;
    },
  };
  // The others are not used.
  const deps = { db, chain, clock: instantClock() } as unknown as WorkerDeps;
  for (let attempts = 0; attempts < 2; attempts += 1) {
    left = 30;
    await completeLedger(deps, project.flywheel.multisig, batch).catch(() => undefined);
  }
  assert.equal((await findLedgerEntries(db, batch.id)).length, 40);
  assert.ok(most <= 8, `${most} requests at once`);
  const charged = await db.selectFrom('daily_spending').select('lamports').execute();
  assert.deepEqual(charged, [{ lamports: 40n * 5_000n }]);
});

test('bundles that were lost cost no request each, however many there are, and what landed after all is recorded', async () => {
  const project = await storeProject(db);
  const { multisig } = project.flywheel;
  const batch = await storeBatch(db, project);
  const lost: Signature[] = [];
  for (let bundles = 0; bundles < 8; bundles += 1) {
    const signatures = [signature(getBase58Decoder().decode(randomBytes(64)))];
    lost.push(...signatures);
    const { id } = await insertBundle(db, newBundle(batch, { signatures, transactions: [SIGNED_TX], tipLamports: 0n }));
    await settleBundle(db, id, 'failed', { signatures: [], slot: null }, new Date());
  }
  const [late] = lost;
  let [statuses, reads] = [0, 0];
  const chain = {
    finalizedBlock: async () => ({ slot: 9n, blockHeight: 1n }),
    signatureOutcomes: async (asked: readonly Signature[]): Promise<SignatureOutcomes> => {
      statuses += 1;
      const landed = { confirmation: 'finalized', err: null, slot: 1n } as const;
      return { contextSlot: 9n, outcomes: asked.map((each) => (each === late ? landed : 'unknown')) };
    },
    transactionCosts: async (): Promise<TransactionCosts> => {
      reads += 1;
      return { feePayer: multisig.operator, feeLamports: 5_000n, changes: new Map(), failed: false };
    },
  };
  const deps = { db, chain, clock: instantClock() } as unknown as RunDeps;
  await completeLedger(deps, multisig, batch);
  assert.deepEqual([statuses, reads], [1, 1]);
  assert.deepEqual(
    (await findLedgerEntries(db, batch.id)).map((entry) => entry.signature),
    [late],
  );
  assert.equal(await isFinalForAll(deps, batch), true);
  assert.equal(statuses, 2);
});

test('a ledger is incomplete without what landed, unless it has expired and no node knows it', async () => {
  const project = await storeProject(db);
  const batch = await storeBatch(db, project);
  const bundle = newBundle(batch);
  const { signatures, lastValidBlockHeight } = bundle;
  const { id } = await insertBundle(db, bundle);
  await settleBundle(db, id, 'landed', { signatures, slot: 1n }, new Date());
  const judge = (outcome: SignatureOutcome, blockHeight: bigint) => {
    const chain = {
      finalizedBlock: async () => ({ slot: 2n, blockHeight }),
      signatureOutcomes: async () => ({ contextSlot: 2n, outcomes: signatures.map(() => outcome) }),
    };
    return judgeLedger({ db, chain } as unknown as WorkerDeps, batch);
  };
  assert.equal(
    await judge({ confirmation: 'finalized', err: null, slot: 1n }, lastValidBlockHeight + 1n),
    'incomplete',
  );
  assert.equal(await judge('unknown', lastValidBlockHeight), 'incomplete');
  assert.equal(await judge('unknown', lastValidBlockHeight + 1n), 'forgotten');
  const rent = { rentOutLamports: 0n, rentBackLamports: 0n, vaultRentLamports: 0n };
  const entries = signatures.map((each) => ({
    ...{ signature: each, phase: bundle.phase, feeLamports: 5_000n, tipLamports: 0n },
    ...rent,
  }));
  await insertLedgerEntries(db, batch.id, entries);
  assert.equal(await judge('unknown', lastValidBlockHeight), 'complete');
});
