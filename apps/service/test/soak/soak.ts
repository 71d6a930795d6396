import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { batchTransactionAddress, proposalAddress, transactionAddress } from '@flywheel/squads';
import { waitUntil } from '@flywheel/testing/batches';
import { tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { getBatch } from '@flywheel/testing/client';
import { pendingJobs } from '@flywheel/testing/jobs';
import { requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type Address, address } from '@solana/kit';
import { type Chain, createChain } from '../../src/solana/chain.ts';
import { readNonces } from '../../src/solana/nonces.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { findNonces } from '../../src/store/nonces.ts';
import { BASE_UNITS_PER_TOKEN, type Load, type SoakBatch, VAULT_BASE_UNITS } from './load.ts';

/** Waits until every batch has ended and is closed, and the queue has nothing left to do; fails after `seconds`. */
export async function awaitRest(world: World, seconds: number): Promise<void> {
  const deadline = Date.now() + seconds * 1_000;
  for (;;) {
    const left = await readUnfinished(world);
    if (left.open.length === 0 && left.pending.length === 0) return;
    if (Date.now() > deadline) assert.fail(`After ${seconds} s ${await describeUnfinished(world, left)}`);
    await sleep(200);
  }
}

/** The work that a run has left. */
export interface Unfinished {
  /** Batches that are not closed. */
  readonly open: readonly { readonly id: string }[];
  readonly pending: Awaited<ReturnType<typeof pendingJobs>>;
}

export async function readUnfinished(world: World): Promise<Unfinished> {
  const open = await world.db.selectFrom('batches').select('id').where('closed_at', 'is', null).execute();
  return { open, pending: await pendingJobs(world) };
}

/** Says what a failed soak has left to do, because its database is deleted afterwards. */
export async function describeUnfinished(world: World, { open, pending }: Unfinished): Promise<string> {
  const stories = await Promise.all(open.map(({ id }) => describeBatch(world, id)));
  return `not closed: ${stories.join('; ')}; not done: ${JSON.stringify(pending)}`;
}

async function describeBatch({ db }: World, id: string): Promise<string> {
  const batch = await db
    .selectFrom('batches')
    .select(['status', 'signed_tx', 'execution_error', 'execution_began_at', 'nonce_value', 'closed_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const bundles = await findBundles(db, id);
  const sent = bundles.map(
    ({ phase, state, signatures, landedSignatures, firstPipeline, pipelineCounts }) =>
      `${phase} ${state}, ${landedSignatures.length} of ${signatures.length} landed, ${firstPipeline} + [${pipelineCounts}]`,
  );
  return `${id}: ${JSON.stringify(batch)} ${JSON.stringify(sent)}`;
}

/**
 * Asserts that tokens moved exactly once, states are true, limits and nonces are balanced, and nothing is left on
 * chain. To be called after `awaitRest`.
 */
export async function assertExact(world: World, { projects, batches }: Load): Promise<void> {
  const executed = new Map<SoakBatch, number>();
  for (const batch of batches) executed.set(batch, await assertBatch(world, batch));
  for (const project of projects) {
    const own = [...executed].filter(([batch]) => batch.project === project);
    await assertProject(
      world,
      project,
      own.map(([, count]) => count),
    );
  }
  await assertNonces(world);
}

/** Compares the batch's counts with the recipient's balance. @returns how many of its pipelines were executed. */
async function assertBatch(world: World, { project, id, recipient, pipelines, fate }: SoakBatch): Promise<number> {
  const { status, executeResult, ledger } = requireOk(await getBatch(world.url, project.apiKey, id, '?include=ledger'));
  const { total, totalSuccessful, totalFailed } = executeResult;
  const said = `${fate} ${id}: ${status} ${JSON.stringify(executeResult)}`;
  assert.equal(status, fate === 'executed' ? 'EXECUTED' : 'FAILED', said);
  assert.deepEqual([total, totalFailed], [pipelines, pipelines - totalSuccessful], said);
  if (fate === 'executed') assert.equal(totalSuccessful, pipelines, said);
  if (fate === 'unexecuted') assert.equal(totalSuccessful, 0, said);
  if (fate === 'ended midway') assert.ok(totalSuccessful < pipelines, said);
  assert.equal(await tokenBalance(world, project.mint, recipient), airdropped(totalSuccessful), `airdrops of ${said}`);
  assert.equal(ledger.isComplete, true, said);
  assert.equal(ledger.rentBackLamports, ledger.rentOutLamports, `rent of ${said}`);
  await assertNothingOnChain(world, project, id, pipelines);
  return totalSuccessful;
}

async function assertNothingOnChain(
  { db, environment }: World,
  { multisig: text }: TestProject,
  id: string,
  pipelines: number,
): Promise<void> {
  const multisig = address(text);
  const { batch_index: index } = await db
    .selectFrom('batches')
    .select('batch_index')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const addresses = await Promise.all([
    transactionAddress(multisig, index),
    proposalAddress(multisig, index),
    ...Array.from({ length: pipelines }, (_, position) => batchTransactionAddress(multisig, index, position)),
  ]);
  const accounts = await chainOf(environment).accounts(addresses);
  const left = accounts.filter((account) => account !== null).map((account) => account.address);
  assert.deepEqual(left, [], `accounts of batch ${id}, index ${index}`);
}

async function assertProject(world: World, project: TestProject, executed: readonly number[]): Promise<void> {
  const burns = executed.reduce((sum, count) => sum + burned(count), 0n);
  const airdrops = executed.reduce((sum, count) => sum + airdropped(count), 0n);
  const { mint } = project;
  assert.equal(await tokenSupply(world, mint), VAULT_BASE_UNITS - burns, 'supply');
  const left = VAULT_BASE_UNITS - burns - airdrops;
  assert.equal(await tokenBalance(world, mint, address(project.vaultAddress)), left, 'vault');
  const days = await world.db
    .selectFrom('daily_amounts')
    .selectAll()
    .where('project_id', '=', project.projectId)
    .execute();
  const counted = [sum(days.map((day) => day.burned)), sum(days.map((day) => day.airdropped))];
  assert.deepEqual(counted, [burns, airdrops], 'daily limits');
}

/** Asserts that every nonce becomes free, and has the value on chain. The pool may just be closing what is too many. */
async function assertNonces({ db, environment, operator }: World): Promise<void> {
  const others = db.selectFrom('nonces').selectAll().where('state', '<>', 'available');
  await waitUntil(
    'every nonce to be free',
    () => others.execute(),
    ({ length }) => length === 0,
  );
  const free = await findNonces(db, 'available');
  const addresses: Address[] = free.map((nonce) => nonce.address);
  const onChain = await readNonces(chainOf(environment), operator.address, addresses, 'finalized');
  assert.deepEqual(new Map(free.map((nonce) => [nonce.address, nonce.value])), onChain);
}

function chainOf({ SOLANA_RPC_URL: rpcUrl = '' }: World['environment']): Chain {
  return createChain({ rpcUrls: [rpcUrl] });
}

/** Counts the burns: the first pipeline burns, the second airdrops, and so on. */
function burned(pipelines: number): bigint {
  return BigInt(Math.ceil(pipelines / 2)) * BASE_UNITS_PER_TOKEN;
}

function airdropped(pipelines: number): bigint {
  return BigInt(Math.floor(pipelines / 2)) * BASE_UNITS_PER_TOKEN;
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
