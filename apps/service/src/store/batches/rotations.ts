import type { Approver, BatchStatus, RotateAction } from '@flywheel/api';
import { sql } from 'kysely';
import { type Batch, issueMessage } from '../../model/batch.ts';
import type { Flywheel } from '../../model/project.ts';
import { DamagedRecord } from '../damaged-record.ts';
import type { Db } from '../db.ts';
import { findPastPipelines } from './past-batches.ts';

/** A member of a multisig and its replacement, completed or not. */
export interface RotationRecord {
  readonly batchId: string;
  readonly approver: Approver;
  readonly from: string;
  readonly to: string;
  readonly status: BatchStatus;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

/** Reads the action of a rotation. @throws DamagedRecord if its pipeline is not a rotation. */
export function replacementOf({ id, pipelines }: Pick<Batch, 'id' | 'pipelines'>): RotateAction {
  const action = pipelines[0]?.actions[0];
  if (action?.action !== 'ROTATE') throw new DamagedRecord(`rotation ${id}`, 'it names no member to replace');
  return action;
}

/** An open rotation. */
export interface OpenRotation {
  readonly batchId: string;
  /** True if the wallet and the company have approved it: it is executed as soon as no other batch is open. */
  readonly isReady: boolean;
}

/** Finds the open rotations that both sides have approved and something holds up, with the sentence about it, oldest first. */
export async function findWaitingRotations(db: Db): Promise<{ readonly batchId: string; readonly message: string }[]> {
  const rows = await db
    .selectFrom('batches')
    .select(['id', 'execution_error'])
    .where('kind', '=', 'rotation')
    .where('ended_at', 'is', null)
    .where('signed_tx', 'is not', null)
    .where('company_decided_at', 'is not', null)
    .orderBy('created_at')
    .execute();
  return rows.flatMap(({ id: batchId, execution_error: issue }) =>
    issue === null ? [] : { batchId, message: issueMessage(issue) },
  );
}

/** Finds since when both sides have approved a rotation. @throws Error if they have not. */
export async function findReadyAt(db: Db, batchId: string): Promise<Date> {
  const { signed_at: signedAt, company_decided_at: decidedAt } = await db
    .selectFrom('batches')
    .select(['signed_at', 'company_decided_at'])
    .where('id', '=', batchId)
    .executeTakeFirstOrThrow();
  if (signedAt === null || decidedAt === null)
    throw new Error(`The rotation ${batchId} is not approved by both sides.`);
  return new Date(Math.max(signedAt.getTime(), decidedAt.getTime()));
}

/**
 * Finds the id of the rotation that has replaced a member of a flywheel since its members were read, or null; `recovered` if
 * its recovery key has taken over from a lost operator. A request that waited for the flywheel's lock meanwhile would build
 * its approval with the old member.
 */
export async function findMissedRotation(db: Db, { id, multisig }: Flywheel): Promise<string | 'recovered' | null> {
  const changed = await db
    .selectFrom('flywheels')
    .select('id')
    .where('id', '=', id)
    .where((eb) =>
      eb.or([
        eb('operator', '!=', multisig.operator),
        eb('company', '!=', multisig.company),
        eb('wallet', '!=', multisig.wallet),
      ]),
    )
    .executeTakeFirst();
  if (!changed) return null;
  const ended = await db
    .selectFrom('batches')
    .select('id')
    .where('flywheel_id', '=', id)
    .where('kind', '=', 'rotation')
    .where('ended_at', 'is not', null)
    .orderBy('batch_index', 'desc')
    .executeTakeFirst();
  return ended?.id ?? 'recovered';
}

/** Finds the ids of a flywheel's open batches of every kind, in the order of their creation. */
export async function findOpenIds(db: Db, flywheelId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('batches')
    .select('id')
    .where('flywheel_id', '=', flywheelId)
    .where('ended_at', 'is', null)
    // An open batch is not closed, and an index finds those.
    .where('closed_at', 'is', null)
    .orderBy('batch_index')
    .execute();
  return rows.map(({ id }) => id);
}

/** Reads a project's rotations, newest first. */
export async function findRotations(db: Db, projectId: string, limit: number): Promise<RotationRecord[]> {
  const rows = await db
    .selectFrom('batches')
    .select(['id', 'status', 'created_at', 'ended_at'])
    .where('project_id', '=', projectId)
    .where('kind', '=', 'rotation')
    .orderBy('batch_index', 'desc')
    .limit(limit)
    .execute();
  const ids = rows.map(({ id }) => id);
  const actions = new Map(
    (await findPastPipelines(db, ids)).map((pipeline) => [pipeline.batchId, pipeline.actions[0]]),
  );
  return rows.flatMap((row) => {
    const action = actions.get(row.id);
    return action?.action === 'ROTATE'
      ? {
          batchId: row.id,
          approver: action.approver,
          from: action.from,
          to: action.to,
          status: row.status,
          createdAt: row.created_at,
          endedAt: row.ended_at,
        }
      : [];
  });
}

/**
 * Replaces the old member by the new one, in the transaction that ends the rotation. In a restored database a person
 * may have done that already.
 * @throws Error if neither is this member of the flywheel, because chain and database then disagree.
 */
export async function replaceMember(
  trx: Db,
  flywheelId: string,
  { approver, from, to }: Pick<RotateAction, 'approver' | 'from' | 'to'>,
): Promise<void> {
  const { numAffectedRows } =
    approver === 'operator'
      ? await sql`
          update flywheels set operator = ${to}, lost_operator = null
          where id = ${flywheelId} and coalesce(lost_operator, operator) in (${from}, ${to})
        `.execute(trx)
      : approver === 'company'
        ? await sql`
          update flywheels set company = ${to} where id = ${flywheelId} and company in (${from}, ${to})
        `.execute(trx)
        : await sql`
          with flywheel as (
            update flywheels set wallet = ${to} where id = ${flywheelId} and wallet in (${from}, ${to}) returning project_id
          )
          update projects set wallet = ${to} from flywheel where projects.id = flywheel.project_id and wallet in (${from}, ${to})
        `.execute(trx);
  if (numAffectedRows !== 1n)
    throw new Error(`Neither ${from} nor ${to} is the ${approver} of flywheel ${flywheelId}.`);
}
