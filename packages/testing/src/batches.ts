import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Batch, ErrorBody, type Pipeline } from '@flywheel/api';
import type { Base64EncodedWireTransaction } from '@solana/kit';
import { sql } from 'kysely';
import { type Answer, execute, getBatch, init } from './client.ts';
import { requireOk, signWith, type TestProject } from './project.ts';
import type { World } from './world.ts';

export interface OpenBatch {
  readonly id: string;
  readonly idempotencyKey: string;
  readonly proposalApproveTx: Base64EncodedWireTransaction;
  /** The approval, signed by the project's wallet. */
  readonly signedTx: string;
}

/** Initializes a batch and signs its approval; the setup may still be running. */
export async function openBatch(
  { url }: Pick<World, 'url'>,
  project: Pick<TestProject, 'apiKey' | 'wallet'>,
  pipelines: readonly Pipeline[],
): Promise<OpenBatch> {
  const idempotencyKey = randomUUID();
  const { batch, proposalApproveTx } = requireOk(await init(url, project.apiKey, pipelines, idempotencyKey));
  return {
    id: batch.id,
    idempotencyKey,
    proposalApproveTx,
    signedTx: await signWith(project.wallet, proposalApproveTx),
  };
}

/** Opens a batch and waits until it is set up on chain. */
export async function setUpBatch(
  world: Pick<World, 'url'>,
  project: Pick<TestProject, 'apiKey' | 'wallet'>,
  pipelines: readonly Pipeline[],
): Promise<OpenBatch & { readonly batchIndex: bigint }> {
  const batch = await openBatch(world, project, pipelines);
  const { batchIndex } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'FINALIZED');
  return { ...batch, batchIndex: BigInt(batchIndex) };
}

export function executeSigned(
  { url }: Pick<World, 'url'>,
  { apiKey }: Pick<TestProject, 'apiKey'>,
  { id, signedTx }: Pick<OpenBatch, 'id' | 'signedTx'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return execute(url, apiKey, id, signedTx, headers);
}

export async function readBatch(
  { url }: Pick<World, 'url'>,
  { apiKey }: Pick<TestProject, 'apiKey'>,
  batchId: string,
): Promise<Batch & { readonly executionError?: { readonly code: string; readonly message: string } }> {
  return requireOk(await getBatch(url, apiKey, batchId));
}

/** Interval between two polls. A poll costs several milliseconds of a core, which the files that run beside need. */
const POLL_INTERVAL_MS = 100;
/** No test depends on an idle machine: what takes a second there may take a minute beside other work. */
const TIMEOUT_MS = 120_000;

/** Polls a batch until it satisfies the condition. */
export async function waitForBatch(
  world: Pick<World, 'url'>,
  project: Pick<TestProject, 'apiKey'>,
  batchId: string,
  isWanted: (batch: Awaited<ReturnType<typeof readBatch>>) => boolean,
) {
  return waitUntil(`batch ${batchId}`, () => readBatch(world, project, batchId), isWanted);
}

interface WaitOptions {
  /** It may be short for a state in this process, which costs nothing to read. */
  readonly intervalMs?: number;
  /** Two minutes by default. */
  readonly timeoutMs?: number;
}

/**
 * Polls a state until it satisfies the condition.
 * @throws Error with the last state when the time is over.
 */
export async function waitUntil<Seen>(
  subject: string,
  read: () => Seen | Promise<Seen>,
  isWanted: (seen: Seen) => boolean,
  { intervalMs = POLL_INTERVAL_MS, timeoutMs = TIMEOUT_MS }: WaitOptions = {},
): Promise<Seen> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const seen = await read();
    if (isWanted(seen)) return seen;
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms for ${subject}: ${describe(seen)}`);
    await sleep(intervalMs);
  }
}

function describe(seen: unknown): string {
  return JSON.stringify(seen, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** Makes a batch's rows those of an older backup, in which the batch had just been initialized. */
export async function rewindBatch({ db }: Pick<World, 'db'>, batchId: string): Promise<void> {
  // Its setup and its closing are looked at again later.
  await sql`delete from jobs.job where state in ('created', 'retry') and data->>'batchId' = ${batchId}`.execute(db);
  await db.deleteFrom('ledger_entries').where('batch_id', '=', batchId).execute();
  await db.deleteFrom('bundles').where('batch_id', '=', batchId).execute();
  const forgotten = {
    init_result: null,
    execute_result: null,
    ended_at: null,
    closed_at: null,
    end_finalized_at: null,
    execution_began_at: null,
  };
  await db
    .updateTable('batches')
    .set({ status: 'AVAILABLE_TO_QUEUE', ...forgotten })
    .where('id', '=', batchId)
    .execute();
  await db.updateTable('batches').set({ signed_tx: null }).where('id', '=', batchId).execute();
}

export function assertError({ status, body }: Answer, expectedStatus: number, code: string, message?: RegExp): void {
  assert.deepEqual({ status, error: body.error }, { status: expectedStatus, error: code }, JSON.stringify(body));
  ErrorBody.strict().parse(body);
  if (message) assert.match(body.message, message);
}

/** Stores failed batches like one that has ended, under higher batch indices, so that its project has more than a page of them. */
export async function storeFailedBatches({ db }: Pick<World, 'db'>, batchId: string, count: number): Promise<void> {
  await sql`
    insert into batches
    select (jsonb_populate_record(batches, jsonb_build_object(
      'id', gen_random_uuid(), 'idempotency_key', gen_random_uuid(), 'batch_index', batch_index + 100 + n,
      'status', 'FAILED', 'execute_result', null, 'closed_at', ended_at, 'end_finalized_at', ended_at
    ))).*
    from batches, generate_series(1, ${count}::int) n where id = ${batchId}
  `.execute(db);
}
