import { setTimeout as sleep } from 'node:timers/promises';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import { type OpenBatch, openBatch, waitForBatch, waitUntil } from './batches.ts';
import { findBatchOnChain } from './chain.ts';
import type { Answer } from './client.ts';
import type { TestProject } from './project.ts';
import type { World } from './world.ts';

/** A world whose finality is as late as on mainnet. Slots are short, because tests warp instead of waiting. */
export const REAL_FINALITY = { slotMs: 50, finalizedLagSlots: 31 } as const;

/** More slots than finality takes (31 after `confirmed`). */
const FINALITY_SLOTS = 33n;

/** Stops the slots: only `warp` advances them, so that nothing becomes final by itself, however slow the machine is. */
export async function pauseSlots({ localnet }: Pick<World, 'localnet'>): Promise<void> {
  await callRpc(createRpcTransport({ url: localnet.url }), 'localnet_pauseSlots');
}

export async function resumeSlots({ localnet }: Pick<World, 'localnet'>): Promise<void> {
  await callRpc(createRpcTransport({ url: localnet.url }), 'localnet_resumeSlots');
}

/** Finalizes everything that has landed. */
export function finalizeSlots({ localnet }: Pick<World, 'localnet'>): Promise<void> {
  return localnet.warp({ slots: FINALITY_SLOTS });
}

/** Sets up the first batch of a project in one bundle, and pauses the slots as soon as it is on chain. */
export async function setUpAndPause(
  world: World,
  project: TestProject,
  pipelines: Parameters<typeof openBatch>[2],
): Promise<OpenBatch & { readonly batchIndex: bigint }> {
  const batch = { ...(await openBatch(world, project, pipelines)), batchIndex: 1n };
  await waitUntil(
    'the setup on chain',
    () => findBatchOnChain(world, project, batch.batchIndex, 'processed'),
    (seen) => seen?.proposal.status === 'Active',
  );
  await pauseSlots(world);
  await world.localnet.warp();
  await waitForBatch(world, project, batch.id, ({ status }) => status === 'FINALIZED');
  return batch;
}

/** Awaits an answer while the slots are paused, and advances them only as long as a bundle of the batch is in flight. */
export async function advanceWithBundles(
  { db, localnet }: World,
  batchId: string,
  answer: Promise<Answer>,
): Promise<Answer> {
  let isAnswered = false;
  const answered = answer.finally(() => {
    isAnswered = true;
  });
  const inFlight = db.selectFrom('bundles').select('id').where('batch_id', '=', batchId).where('state', '=', 'sent');
  for (; !isAnswered; await sleep(POLL_INTERVAL_MS)) {
    if ((await inFlight.execute()).length > 0) await localnet.warp();
  }
  return answered;
}

/** Long enough that a bundle whose slot has come is seen to have landed, before the next slot. */
const POLL_INTERVAL_MS = 100;
