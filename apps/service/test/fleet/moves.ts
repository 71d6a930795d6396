import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type OpenBatch, waitUntil } from '@flywheel/testing/batches';
import { getBatch } from '@flywheel/testing/client';
import { approveForCompany } from '@flywheel/testing/decisions';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import type { TwoShards } from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { systemClock as clock } from '../../src/clock.ts';
import { moveProject } from '../../src/projects/move-project.ts';

/** Rows of a project as they left its shard: its state at the moment of its move. */
export interface DepartedRows {
  batch(id: string): DepartedBatch;
  /** The jobs of a batch, without those that only wait for their time, in the order in which they were enqueued. */
  jobs(batchId: string): readonly DepartedJob[];
  /** Bundles of a batch's execution. */
  bundles(batchId: string): readonly DepartedBundle[];
  deliveries(): readonly DepartedDelivery[];
}

interface DepartedBatch {
  readonly id: string;
  readonly status: string;
  readonly signed_tx: string | null;
  readonly execution_began_at: string | null;
  readonly company_asked_at: string | null;
  readonly company_decided_at: string | null;
  readonly execution_error: { readonly code: string; readonly reason?: string } | null;
  readonly closed_at: string | null;
}

interface DepartedJob {
  readonly state: string;
  readonly created_on: string;
  readonly start_after: string;
  readonly data: { readonly type: string; readonly batchId: string };
}

/** Jobs that each batch of these tests has: its expiry, and the second look at its setup. */
const TIMED: ReadonlySet<string> = new Set(['expire', 'setup']);

export interface DepartedBundle {
  readonly batch_id: string;
  readonly phase: string;
  readonly state: string;
  readonly landed_signatures: readonly string[];
}

interface DepartedDelivery {
  readonly event_id: string;
  readonly state: string;
  readonly attempts: number;
}

/**
 * Moves a project to the second shard, and waits until the proxy finds it there: it remembers the old one until a request is refused.
 * @param onRefused is called when new work is refused, before anything leaves.
 * @returns its rows as they left the first shard.
 */
export async function moveToSecond(
  { first, second, proxy }: TwoShards,
  project: Pick<TestProject, 'projectId' | 'apiKey'>,
  onRefused: () => void | Promise<void> = () => undefined,
): Promise<DepartedRows> {
  const departed = Promise.withResolvers<DepartedRows>();
  await moveProject({ from: first.db, to: second.db, clock }, project.projectId, async (step) => {
    if (step === 'refusing') await onRefused();
    if (step === 'departed') departed.resolve(await readDeparted(first));
  });
  await untilFound(proxy, project);
  return departed.promise;
}

/** Waits until the proxy leads to the shard of a project. */
export async function untilFound({ url }: Pick<World, 'url'>, { apiKey }: Pick<TestProject, 'apiKey'>): Promise<void> {
  await waitUntil(
    'the proxy to find the project',
    () => getBatch(url, apiKey, randomUUID()),
    ({ status }) => status === 404,
  );
}

/** Reads the rows of the one project that has left a shard and not arrived. */
async function readDeparted({ db }: Pick<World, 'db'>): Promise<DepartedRows> {
  const { rows } = await sql<{ table: string; row: unknown }>`
    select table_name as table, row from departed_rows, json_array_elements(rows) row order by part
  `.execute(db);
  const of = <Row>(table: string) => rows.flatMap((each) => (each.table === table ? [each.row as Row] : []));
  return {
    batch: (id) => {
      const found = of<DepartedBatch>('batches').find((each) => each.id === id);
      return found ?? assert.fail(`Batch ${id} has not left.`);
    },
    jobs: (batchId) =>
      of<DepartedJob>('jobs.job')
        .filter(({ data }) => data.batchId === batchId && !TIMED.has(data.type))
        .toSorted((a, b) => Date.parse(a.created_on) - Date.parse(b.created_on)),
    bundles: (batchId) =>
      of<DepartedBundle>('bundles').filter((each) => each.batch_id === batchId && each.phase === 'execution'),
    deliveries: () => of<DepartedDelivery>('webhook_deliveries'),
  };
}

/** Names the types of jobs, in their order. */
export function typesOf(jobs: readonly DepartedJob[]): string[] {
  return jobs.map(({ data }) => data.type);
}

/** Waits until all costs of a batch that has ended are known and its accounts are closed, and asserts that all rent is back. */
export async function assertRentBack(
  { url }: Pick<World, 'url'>,
  { apiKey }: Pick<TestProject, 'apiKey'>,
  { id }: Pick<OpenBatch, 'id'>,
  status: 'EXECUTED' | 'FAILED',
): Promise<void> {
  const ended = await waitUntil(
    `the end of ${id}`,
    async () => requireOk(await getBatch(url, apiKey, id, '?include=ledger')),
    (seen) => seen.ledger.isComplete,
  );
  assert.equal(ended.status, status);
  assert.ok(BigInt(ended.ledger.rentOutLamports) > 0n);
  assert.equal(ended.ledger.rentBackLamports, ended.ledger.rentOutLamports);
}

/** Signs the operator in to a shard. @returns a function that approves a batch there for the company. */
export async function decideIn(
  { operator }: Pick<TwoShards, 'operator'>,
  { url, db, rpc }: World,
): Promise<(batchId: string) => Promise<void>> {
  const decider = { wallet: operator, cookie: await signIn(url, operator) };
  return async (batchId) => void requireOk(await approveForCompany({ url, db, rpc }, decider, batchId));
}
