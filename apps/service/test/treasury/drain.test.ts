import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  BATCH_DISCRIMINATOR,
  batchEncoder,
  MULTISIG_DISCRIMINATOR,
  multisigEncoder,
  PROPOSAL_DISCRIMINATOR,
  proposalAddress,
  proposalEncoder,
  SQUADS_PROGRAM_ADDRESS,
} from '@flywheel/squads';
import { realClock } from '@flywheel/testing/clock';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { NOW, newBundle, newPipeline, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import type { Address } from '@solana/kit';
import { initResultOf } from '../../src/batches/bundles/results.ts';
import type { RunDeps } from '../../src/batches/deps.ts';
import { drainBatches } from '../../src/batches/jobs/drain.ts';
import { finalizeBatch, findBatch } from '../../src/store/batches/batches.ts';
import { insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { beginRun } from '../../src/store/batches/runs.ts';

const { db, poolConfig } = await openTestDatabase();
const jobs = await startTestJobs({ poolConfig });
after(() => jobs.stop());
await storeNonces(db, 2);

test('a rotation whose grace is over ends no batch whose approval has landed and is not finalized yet', async () => {
  const project = await storeProject(db);
  const { multisig } = project.flywheel;
  const totals = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
  const batch = await storeBatch(db, project, { pipelines: [newPipeline({ actions: [] })], totals });
  await finalizeBatch(db, batch.id, initResultOf(batch, { bundles: [], failedTxMsg: null }), NOW);
  const { id, signatures } = await insertBundle(db, newBundle(batch, { phase: 'execution' }));
  await settleBundle(db, id, 'landed', { signatures, slot: 2n }, NOW);
  const rotation = await storeBatch(db, project, { kind: 'rotation', totals });
  await db
    .updateTable('batches')
    .set({ signed_at: NOW, company_asked_at: NOW, company_decided_at: NOW, company_operator: multisig.wallet })
    .where('id', '=', rotation.id)
    .execute();
  let isFinal = false;
  const accountOf = (address: Address) => {
    const status = isFinal
      ? ({ __kind: 'Approved', timestamp: 0n } as const)
      : ({ __kind: 'Active', timestamp: 0n } as const);
    const index = batch.batchIndex;
    const votes = { bump: 0, approved: [], rejected: [], cancelled: [] };
    if (address === multisig.address) {
      const rules = { threshold: 2, timeLock: 0, rentCollector: null, bump: 0, members: [] };
      const indices = { transactionIndex: 2n, staleTransactionIndex: 0n };
      const keys = { createKey: multisig.wallet, configAuthority: multisig.wallet };
      return [...MULTISIG_DISCRIMINATOR, ...multisigEncoder.encode({ ...keys, ...rules, ...indices })];
    }
    if (address === proposalAddress(multisig.address, index)) {
      const proposal = { multisig: multisig.address, transactionIndex: index, status, ...votes };
      return [...PROPOSAL_DISCRIMINATOR, ...proposalEncoder.encode(proposal)];
    }
    const cursor = { vaultIndex: 0, vaultBump: 0, size: 1, executedTransactionIndex: 0 };
    const own = { multisig: multisig.address, creator: multisig.operator, index, bump: 0 };
    return [...BATCH_DISCRIMINATOR, ...batchEncoder.encode({ ...own, ...cursor })];
  };
  const landed = { slot: 2n, err: null, confirmation: 'finalized' } as const;
  const deps = {
    ...{ db, jobs, clock: realClock, log: quietLog, rotationGraceSeconds: 0 },
    run: await beginRun(db, project.flywheel.id, 'deciding'),
    signal: new AbortController().signal,
    turn: { pause: <T>(wait: () => Promise<T>) => wait() },
    chain: {
      accounts: async (addresses: readonly Address[]) =>
        addresses.map((address) => {
          return { address, programAddress: SQUADS_PROGRAM_ADDRESS, data: Uint8Array.from(accountOf(address)) };
        }),
      // The job waits from here on for what has landed to be finalized.
      slot: async () => {
        isFinal = true;
        return 2n;
      },
      finalizedBlock: async () => ({ slot: 2n, blockHeight: 2n }),
      signatureOutcomes: async () => ({ contextSlot: 2n, outcomes: signatures.map(() => landed) }),
    },
    // The other dependencies are those of sending.
  } as unknown as RunDeps;
  assert.equal(await drainBatches(deps, project, rotation), true);
  assert.equal((await findBatch(db, batch.id))?.status, 'FINALIZED');
});
