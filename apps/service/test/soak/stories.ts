import type { Batch } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { cancel, cancelAsWallet } from '@flywheel/testing/cancel';
import { readBatchOnChain, tokenBalance } from '@flywheel/testing/chain';
import { getBatch } from '@flywheel/testing/client';
import { makeDue } from '@flywheel/testing/jobs';
import { createSeizableMint, mintTo, type OwnMint, seize } from '@flywheel/testing/mints';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { address, isSolanaError, SOLANA_ERROR__INSTRUCTION_ERROR__CUSTOM } from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { askToExecute, initialize, type SoakBatch, VAULT_BASE_UNITS } from './load.ts';
import type { Step } from './workers/stepped-worker.ts';

/** Every way a batch can take; together they run every step of every job type. */
export const STORIES = {
  'is executed, and so is the one behind it': tellExecuted,
  'is cancelled once it is set up': tellCancelled,
  'is cancelled before it is set up, which burns its index': tellBuried,
  expires: tellExpired,
  'is cancelled midway, its vault empty': tellMidway,
} as const satisfies Readonly<Record<string, Story>>;

export type Story = (context: StoryContext, project: StoryProject) => Promise<SoakBatch[]>;

export interface StoryContext {
  readonly world: World;
  /** Acts once, at the first matching step of a multisig's job, before the worker continues or is killed. */
  actAtStep<Result>(
    multisig: string,
    isWanted: (step: Step) => boolean,
    act: (step: Step) => Promise<Result>,
  ): Promise<Result>;
}

export interface StoryProject extends TestProject {
  /** A mint whose authority can take the vault's tokens. */
  readonly ownMint: OwnMint;
}

export async function createStoryProject(world: World): Promise<StoryProject> {
  const ownMint = await createSeizableMint(world);
  const project = await createProject(world, { mint: ownMint.address, vaultBaseUnits: 0n });
  await mintTo(world, ownMint, address(project.vaultAddress), VAULT_BASE_UNITS);
  return { ...project, ownMint };
}

/** More pipelines than one bundle holds, and few enough for a test. */
const PIPELINES = 8;
/** More pipelines than any first bundle executes. */
const MANY_PIPELINES = 120;

/** The second batch is set up beside the execution of the first one, and is asked for before. */
async function tellExecuted({ world }: StoryContext, project: StoryProject): Promise<SoakBatch[]> {
  const batches: SoakBatch[] = [];
  for (const pipelines of [PIPELINES, 1]) {
    const { batch, proposalApproveTx } = await initialize(world, project, pipelines);
    await askToExecute(world, project, batch.id, proposalApproveTx);
    batches.push({ ...batch, fate: 'executed' });
  }
  for (const { id } of batches) await untilStatus(world, project, id, 'EXECUTED');
  return batches;
}

async function tellCancelled({ world }: StoryContext, project: StoryProject): Promise<SoakBatch[]> {
  const { batch } = await initialize(world, project, PIPELINES);
  await untilStatus(world, project, batch.id, 'FINALIZED');
  await cancel(world, project, batch.id);
  await untilStatus(world, project, batch.id, 'FAILED');
  return [{ ...batch, fate: 'unexecuted' }];
}

async function tellBuried(context: StoryContext, project: StoryProject): Promise<SoakBatch[]> {
  const { world, actAtStep } = context;
  // An earlier batch's job may run once more: its process died before the queue recorded it as done.
  const earlier = await world.db
    .selectFrom('batches')
    .select('id')
    .where('project_id', '=', project.projectId)
    .execute();
  const cancelled = actAtStep(
    project.multisig,
    ({ name, job }) => name === 'setup: taken' && !earlier.some(({ id }) => id === job.batchId),
    ({ job }) => cancel(world, project, job.batchId ?? ''),
  );
  const { batch } = await initialize(world, project, 1);
  await cancelled;
  await untilStatus(world, project, batch.id, 'FAILED');
  return [{ ...batch, fate: 'unexecuted' }, ...(await tellExecuted(context, project))];
}

async function tellExpired({ world }: StoryContext, project: StoryProject): Promise<SoakBatch[]> {
  const { batch } = await initialize(world, project, PIPELINES);
  await untilStatus(world, project, batch.id, 'FINALIZED');
  await makeDue(world, 'expire', batch.id);
  await untilStatus(world, project, batch.id, 'FAILED');
  return [{ ...batch, fate: 'unexecuted' }];
}

async function tellMidway({ world, actAtStep }: StoryContext, project: StoryProject): Promise<SoakBatch[]> {
  const { batch, proposalApproveTx } = await initialize(world, project, MANY_PIPELINES);
  await untilStatus(world, project, batch.id, 'FINALIZED');
  const emptied = actAtStep(
    project.multisig,
    ({ name, job }) => /^execute: after send(Bundle 1|Transaction 2)$/.test(name) && job.batchId === batch.id,
    () => emptyVault(world, project, batch.id),
  );
  await askToExecute(world, project, batch.id, proposalApproveTx);
  const takenBaseUnits = await emptied;
  await untilBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
  await cancel(world, project, batch.id);
  await untilStatus(world, project, batch.id, 'FAILED');
  await cancelAsWallet(world, project, batch.id);
  await mintTo(world, project.ownMint, address(project.vaultAddress), takenBaseUnits);
  return [{ ...batch, fate: 'ended midway' }];
}

/** Burns the vault's balance after everything that was sent has landed. @returns the amount. */
async function emptyVault(world: World, project: StoryProject, batchId: string): Promise<bigint> {
  const vault = address(project.vaultAddress);
  const { batch_index } = await world.db
    .selectFrom('batches')
    .select('batch_index')
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  // Over RPC, the transactions of a bundle are sent one after the other, and the worker has stopped between them.
  const bundles = (await findBundles(world.db, batchId, 'execution')).filter(({ isAtomic }) => isAtomic);
  const sent = Math.max(
    0,
    ...bundles.map(({ firstPipeline, pipelineCounts }) => pipelineCounts.reduce((sum, n) => sum + n, firstPipeline)),
  );
  await waitUntil(
    `${sent} pipelines of ${batchId} to be executed`,
    async () => (await readBatchOnChain(world, project, batch_index)).batch.executedTransactionIndex,
    (executed) => executed >= sent,
    { timeoutMs: TIMEOUT_MS },
  );
  // Those that were sent may still land.
  for (let taken = 0n; ; ) {
    const amount = await tokenBalance(world, project.mint, vault);
    if (amount === 0n) return taken;
    if (await seizes(world, project, amount)) taken += amount;
  }
}

/** @returns false if the vault held less by then. */
async function seizes(world: World, { ownMint, vaultAddress }: StoryProject, amount: bigint): Promise<boolean> {
  try {
    await seize(world, ownMint, address(vaultAddress), amount);
    return true;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const isTooMuch =
      isSolanaError(cause, SOLANA_ERROR__INSTRUCTION_ERROR__CUSTOM) && cause.context.code === INSUFFICIENT_FUNDS;
    if (!isTooMuch) throw error;
    return false;
  }
}

/** TokenError::InsufficientFunds. */
const INSUFFICIENT_FUNDS = 1;

function untilStatus(world: World, project: StoryProject, id: string, wanted: string): Promise<unknown> {
  return untilBatch(world, project, id, ({ status }) => status === wanted);
}

async function untilBatch(
  world: World,
  { apiKey }: StoryProject,
  id: string,
  isWanted: (batch: Batch & { readonly executionError?: object }) => boolean,
): Promise<unknown> {
  return waitUntil(`batch ${id}`, async () => requireOk(await getBatch(world.url, apiKey, id)), isWanted, {
    timeoutMs: TIMEOUT_MS,
  });
}

/** While workers die at every step, each job starts many times, and on a busy machine a worker starts for ten seconds. */
const TIMEOUT_MS = 20 * 60_000;
