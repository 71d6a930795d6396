import type { Address } from '@solana/kit';
import { type ListedBatch, selectListed, toListed } from '../batches/batch-records.ts';
import type { Db } from '../db.ts';

/** A batch that a person has to decide for the company. */
export interface WaitingBatch extends ListedBatch {
  readonly projectId: string;
  readonly mint: Address;
  readonly decimals: number;
  readonly askedAt: Date;
}

/** Of all projects, oldest first. */
export async function findWaitingBatches(db: Db, limit: number): Promise<WaitingBatch[]> {
  const rows = await selectListed(db)
    .innerJoin('tokens', 'tokens.id', 'batches.token_id')
    .select(['batches.project_id', 'mint', 'decimals'])
    .where('company_asked_at', 'is not', null)
    .select((eb) => eb.ref('company_asked_at').$notNull().as('asked_at'))
    .where('company_decided_at', 'is', null)
    .where('ended_at', 'is', null)
    .orderBy('company_asked_at')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ...toListed(row),
    projectId: row.project_id,
    mint: row.mint,
    decimals: row.decimals,
    askedAt: row.asked_at,
  }));
}
