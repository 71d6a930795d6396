import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { ShardQuestion } from '../../model/shard-question.ts';
import type { Db } from '../db.ts';

/**
 * Tells if this database has what a question names. A project's row is in one database at a time, so one shard says yes, although
 * both may have its settled batches.
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

/** Tells if a project has left this shard, by its id, its multisig or the prefix of one of its API keys. */
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
