import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pipeline } from '@flywheel/api';
import { executeSigned } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, init } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type Address, type Base64EncodedWireTransaction, generateKeyPairSigner } from '@solana/kit';

/** What a soak has requested of the service, and what must be true in the end. */
export interface Load {
  readonly projects: readonly TestProject[];
  readonly batches: readonly SoakBatch[];
}

export interface SoakBatch {
  readonly project: TestProject;
  readonly id: string;
  /** Recipient of its airdrops, and of no other batch's. */
  readonly recipient: Address;
  readonly pipelines: number;
  readonly fate: Fate;
}

/** How the batch has to end: completely executed, not at all, or in part. */
export type Fate = 'executed' | 'unexecuted' | 'ended midway';

export const VAULT_BASE_UNITS = 10n ** 12n;
export const BASE_UNITS_PER_TOKEN = 10n ** 6n;

/** Initializes batches, round robin over new projects, and requests the execution of each. */
export async function startLoad(
  world: World,
  {
    projectCount,
    batchCount,
    pipelinesPerBatch,
  }: { readonly projectCount: number; readonly batchCount: number; readonly pipelinesPerBatch: number },
): Promise<Load> {
  const projects: TestProject[] = [];
  for (let i = 0; i < projectCount; i++) {
    projects.push(await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }));
  }
  const batches: SoakBatch[] = [];
  for (let i = 0; i < batchCount; i++) {
    const project = projects[i % projects.length];
    if (!project) throw new Error('A load takes a project.');
    const { batch, proposalApproveTx } = await initialize(world, project, pipelinesPerBatch);
    await askToExecute(world, project, batch.id, proposalApproveTx);
    batches.push({ ...batch, fate: 'executed' });
  }
  return { projects, batches };
}

/**
 * Initializes a batch whose pipelines burn one token or airdrop one, in turn. While no worker lives the nonce pool is
 * not refilled, and a project may have ten open batches: a client waits and repeats, as the answer says.
 */
export async function initialize(
  world: Pick<World, 'url'>,
  project: TestProject,
  pipelines: number,
): Promise<{ readonly batch: Omit<SoakBatch, 'fate'>; readonly proposalApproveTx: Base64EncodedWireTransaction }> {
  const { address: recipient } = await generateKeyPairSigner();
  const body: readonly Pipeline[] = Array.from({ length: pipelines }, (_, position) =>
    position % 2 === 0 ? burnPipeline(1) : airdropPipeline(recipient, 1),
  );
  const idempotencyKey = randomUUID();
  for (;;) {
    const answer = await init(world.url, project.apiKey, body, idempotencyKey);
    if (answer.status !== 503 && answer.status !== 429) {
      const { batch, proposalApproveTx } = requireOk(answer);
      return { batch: { project, id: batch.id, recipient, pipelines }, proposalApproveTx };
    }
    await sleep(REPEAT_MS);
  }
}

/** Requests an execution, and repeats the request while the cluster does not answer, as the error allows. */
export async function askToExecute(
  world: Pick<World, 'url'>,
  project: TestProject,
  id: string,
  proposalApproveTx: Base64EncodedWireTransaction,
): Promise<void> {
  const signedTx = await signWith(project.wallet, proposalApproveTx);
  for (;;) {
    const { status, body } = await executeSigned(world, project, { id, signedTx }, { prefer: 'wait=0' });
    if (status === 200 || status === 202) return;
    if (status !== 500) throw new Error(`Execute answered ${status}: ${JSON.stringify(body)}`);
    await sleep(REPEAT_MS);
  }
}

const REPEAT_MS = 500;
