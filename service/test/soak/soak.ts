import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pipeline } from '@flywheel/api';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { airdropPipeline, burnPipeline, execute, getBatch, init } from '../client.ts';
import { createProject, requireOk, signWith, type TestProject } from '../project.ts';
import type { World } from '../world.ts';

/** What a soak asks of the service, and what must be true of it in the end. */
export interface Load {
  readonly projects: readonly TestProject[];
  readonly batches: readonly LoadedBatch[];
}

interface LoadedBatch {
  readonly project: TestProject;
  readonly id: string;
  readonly recipient: Address;
  readonly pipelines: number;
}

const VAULT_BASE_UNITS = 10n ** 12n;
const BASE_UNITS_PER_TOKEN = 10n ** 6n;

/**
 * Initializes batches of burns and airdrops, round robin over several projects, and asks for their execution; each of
 * its pipelines burns one token and gives one to a recipient of its batch alone. Every second pipeline is an airdrop.
 */
export async function startLoad(
  world: World,
  {
    projectCount,
    batchCount,
    pipelinesPerBatch,
  }: { projectCount: number; batchCount: number; pipelinesPerBatch: number },
): Promise<Load> {
  const projects: TestProject[] = [];
  for (let i = 0; i < projectCount; i++) {
    projects.push(await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }));
  }
  const batches: LoadedBatch[] = [];
  for (let i = 0; i < batchCount; i++) {
    const project = projects[i % projects.length];
    if (!project) throw new Error('A load takes a project.');
    const { address: recipient } = await generateKeyPairSigner();
    const pipelines = Array.from({ length: pipelinesPerBatch }, (_, position) =>
      position % 2 === 0 ? burnPipeline(1) : airdropPipeline(recipient, 1),
    );
    const { batch, proposalApproveTx } = await initialize(world, project, pipelines);
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    const asked = await execute(world.url, project.apiKey, batch.id, signedTx, { prefer: 'wait=0' });
    assert.ok(asked.status === 200 || asked.status === 202, JSON.stringify(asked.body));
    batches.push({ project, id: batch.id, recipient, pipelines: pipelinesPerBatch });
  }
  return { projects, batches };
}

/** While no worker lives nobody refills the nonce pool: a client waits and repeats, as the answer says. */
async function initialize(world: World, { apiKey }: TestProject, pipelines: readonly Pipeline[]) {
  const idempotencyKey = randomUUID();
  for (;;) {
    const answer = await init(world.url, apiKey, pipelines, idempotencyKey);
    if (answer.status !== 503) return requireOk(answer);
    await sleep(500);
  }
}

/** Waits until every batch has ended; fails after `seconds`, saying which have not. */
export async function awaitEnds(world: World, { batches }: Load, seconds: number): Promise<void> {
  const deadline = Date.now() + seconds * 1_000;
  for (;;) {
    const open = await world.db.selectFrom('batches').select(['id', 'status']).where('ended_at', 'is', null).execute();
    if (open.length === 0) return;
    if (Date.now() > deadline)
      assert.fail(`${open.length} of ${batches.length} have not ended: ${JSON.stringify(open)}`);
    await sleep(200);
  }
}

/** Tokens moved exactly once, states true, nothing stuck, limits and nonces balanced. */
export async function assertExact(world: World, { projects, batches }: Load): Promise<void> {
  for (const { project, id, recipient, pipelines } of batches) {
    const batch = requireOk(await getBatch(world.url, project.apiKey, id));
    assert.equal(batch.status, 'EXECUTED', JSON.stringify(batch));
    assert.deepEqual(
      [batch.executeResult.total, batch.executeResult.totalSuccessful, batch.executeResult.totalFailed],
      [pipelines, pipelines, 0],
    );
    const airdrops = BigInt(Math.floor(pipelines / 2));
    assert.equal(await tokensOf(world, project, recipient), airdrops * BASE_UNITS_PER_TOKEN, `airdrops of ${id}`);
  }
  for (const project of projects) {
    const own = batches.filter((batch) => batch.project === project);
    const burns = own.reduce((sum, { pipelines }) => sum + BigInt(Math.ceil(pipelines / 2)), 0n);
    const airdrops = own.reduce((sum, { pipelines }) => sum + BigInt(Math.floor(pipelines / 2)), 0n);
    const { value: supply } = await world.rpc.getTokenSupply(project.mint).send();
    assert.equal(BigInt(supply.amount), VAULT_BASE_UNITS - burns * BASE_UNITS_PER_TOKEN, 'supply');
    const left = VAULT_BASE_UNITS - (burns + airdrops) * BASE_UNITS_PER_TOKEN;
    assert.equal(await tokensOf(world, project, address(project.vaultAddress)), left, 'vault');
    const [day] = await world.db
      .selectFrom('daily_amounts')
      .selectAll()
      .where('project_id', '=', project.projectId)
      .execute();
    assert.deepEqual([day?.burned, day?.airdropped], [burns * BASE_UNITS_PER_TOKEN, airdrops * BASE_UNITS_PER_TOKEN]);
  }
  const leased = await world.db.selectFrom('nonces').select('address').where('state', '=', 'leased').execute();
  assert.deepEqual(leased, [], 'no nonce stays leased');
}

/** Waits until nothing is queued but expiries of batches that have ended. */
export async function awaitIdle(world: World, { batches }: Load, seconds: number): Promise<void> {
  const deadline = Date.now() + seconds * 1_000;
  for (;;) {
    const rows = await world.db.selectFrom('batches').select('id').where('closed_at', 'is', null).execute();
    if (rows.length === 0) return;
    if (Date.now() > deadline) assert.fail(`${rows.length} of ${batches.length} are not closed on chain.`);
    await sleep(200);
  }
}

async function tokensOf({ rpc }: World, { mint }: TestProject, owner: Address): Promise<bigint> {
  const [tokenAccount] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS });
  const { value } = await rpc.getTokenAccountBalance(tokenAccount).send();
  return BigInt(value.amount);
}
