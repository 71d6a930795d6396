import type { ApprovalMode } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Token } from '../../model/project.ts';
import type { Db } from '../db.ts';

/** A project as a list shows it. */
export interface ProjectSummaryRecord {
  readonly id: string;
  readonly wallet: Address;
  readonly token: Token;
  readonly vault: Address;
  readonly approvalMode: ApprovalMode;
  /** By itself, or with all others. */
  readonly isPaused: boolean;
  readonly pauseReason: string | null;
  readonly openBatches: number;
  readonly createdAt: Date;
}

/** Newest first: all, a wallet's, or one. Those whose token or flywheel is gone are left out. */
export async function findProjectSummaries(
  db: Db,
  { wallet, projectId }: { readonly wallet?: Address; readonly projectId?: string },
): Promise<ProjectSummaryRecord[]> {
  const rows = await db
    .selectFrom('projects')
    .innerJoin('tokens', 'tokens.project_id', 'projects.id')
    .innerJoin('flywheels', 'flywheels.project_id', 'projects.id')
    .crossJoin('company')
    .select(['projects.id', 'projects.wallet', 'approval_mode', 'created_at', 'vault'])
    .select(['tokens.id as token_id', 'mint', 'decimals', 'program_address'])
    .select((eb) => [
      eb.or([eb('projects.paused_at', 'is not', null), eb('company.paused_at', 'is not', null)]).as('is_paused'),
      // The project's own reason counts only while it is paused by itself.
      sql<
        string | null
      >`case when projects.paused_at is null then company.pause_reason else projects.pause_reason end`.as(
        'pause_reason',
      ),
      eb
        .selectFrom('batches')
        .select(({ fn }) => fn.countAll<bigint>().as('count'))
        .whereRef('batches.project_id', '=', 'projects.id')
        .where('ended_at', 'is', null)
        .as('open_batches'),
    ])
    .where('tokens.archived_at', 'is', null)
    .where('flywheels.archived_at', 'is', null)
    .$if(wallet !== undefined, (query) => query.where('projects.wallet', '=', wallet ?? null))
    .$if(projectId !== undefined, (query) => query.where('projects.id', '=', projectId ?? null))
    .orderBy('created_at', 'desc')
    .orderBy('projects.id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    wallet: row.wallet,
    token: { id: row.token_id, mint: row.mint, decimals: row.decimals, programAddress: row.program_address },
    vault: row.vault,
    approvalMode: row.approval_mode,
    isPaused: Boolean(row.is_paused),
    pauseReason: row.pause_reason,
    openBatches: Number(row.open_batches ?? 0n),
    createdAt: row.created_at,
  }));
}
