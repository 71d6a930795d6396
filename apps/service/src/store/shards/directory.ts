import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type { ShardQuestion, Whereabouts } from '../../model/shard-question.ts';
import type { Db } from '../db.ts';

/** Finds out if this database has what a question names, or if that may be between this database and another one. */
export async function locate(db: Db, question: ShardQuestion): Promise<Whereabouts> {
  if (await isHere(db, question)) return 'here';
  const isMeant = toMoves(question);
  return isMeant !== null && (await isMoving(db, isMeant)) ? 'moving' : 'elsewhere';
}

/** The moves that may concern a question; null if none can. The rows that say whose a batch is have left with it. */
function toMoves(question: ShardQuestion): RawBuilder<unknown> | null {
  if (question.kind === 'key') return sql`${question.prefix} = any(key_prefixes)`;
  if (question.kind === 'project') return sql`project_id = ${question.projectId}`;
  return question.kind === 'batch' ? sql`true` : null;
}

/** Returns true if a project has left this database, and is not known to be in another one. */
export async function isMoving(db: Db, isMeant: RawBuilder<unknown> = sql`true`): Promise<boolean> {
  const { rows } = await sql<{ moving: boolean }>`
    select exists (select from project_moves where arrived_at is null and ${isMeant}) as moving
  `.execute(db);
  return rows[0]?.moving ?? false;
}

/**
 * Returns true if this database has what a question names. A project's row is in one database at a time, so only one shard says
 * yes, although both may have its settled batches.
 */
export async function isHere(db: Db, question: ShardQuestion): Promise<boolean> {
  const { rows } = await sql<{ here: boolean }>`select exists (${toQuery(question)}) as here`.execute(db);
  return rows[0]?.here ?? false;
}

function toQuery(question: ShardQuestion) {
  switch (question.kind) {
    case 'key':
      return sql`select from api_keys where prefix = ${question.prefix}`;
    case 'project':
      return sql`select from projects where id = ${question.projectId}`;
    case 'batch':
      return sql`select from batches join projects on projects.id = project_id where batches.id = ${question.batchId}`;
    case 'wallet':
      return sql`select from projects where wallet = ${question.wallet}`;
    case 'vault':
      return sql`select from flywheels where vault = ${question.vault}`;
    case 'proof':
      return sql`
        select from pipelines join projects on projects.id = project_id
        where proof_hash = ${Buffer.from(question.hash, 'hex')}
      `;
    case 'transaction':
      return sql`
        select from bundles join batches on batches.id = batch_id join projects on projects.id = project_id
        where landed_signatures @> array[${question.signature}]::text[]
      `;
    default:
      throw question satisfies never;
  }
}

/** Returns true if a project has left this shard, by its id, its multisig or the prefix of one of its API keys. */
export async function hasDeparted(
  db: Db,
  by: { readonly projectId: string } | { readonly multisig: Address } | { readonly keyPrefix: string },
): Promise<boolean> {
  const isMeant =
    'projectId' in by
      ? sql`project_id = ${by.projectId}`
      : 'multisig' in by
        ? sql`multisig = ${by.multisig}`
        : sql`${by.keyPrefix} = any(key_prefixes)`;
  const { rows } = await sql<{ departed: boolean }>`
    select exists (select from project_moves where ${isMeant}) as departed
  `.execute(db);
  return rows[0]?.departed ?? false;
}
