import type { ProjectSummary } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { TokenName, TokenNames } from '../solana/token-names.ts';
import type { Db } from '../store/db.ts';
import { findProjectSummaries, type ProjectSummaryRecord } from '../store/projects/projects.ts';

interface ListDeps {
  readonly db: Db;
  readonly tokenNames: TokenNames;
}

/** Lists the projects of a wallet, or all projects for null, newest first. */
export async function listProjects({ db, tokenNames }: ListDeps, wallet: Address | null): Promise<ProjectSummary[]> {
  const records = await findProjectSummaries(db, wallet === null ? {} : { wallet });
  const names = await tokenNames.of(records.map(({ token }) => token.mint));
  return records.map((record) => summarize(record, names.get(record.token.mint)));
}

/** Presents a project as a row of a list. */
export function summarize(record: ProjectSummaryRecord, name: TokenName | undefined): ProjectSummary {
  const { id, wallet, token, vault, approvalMode, isPaused, pausedAt, isAdmitted, openBatches, createdAt } = record;
  return {
    id,
    wallet,
    token: {
      id: token.id,
      mint: token.mint,
      decimals: token.decimals,
      program: programOf(token.programAddress),
      ...name,
    },
    vaultAddress: vault,
    approvalMode,
    isPaused,
    ...(pausedAt !== null && { pausedAt: pausedAt.toISOString() }),
    isAdmitted,
    openBatches,
    dateCreated: createdAt.toISOString(),
  };
}

/** Names a token program as the wire does. */
export function programOf(programAddress: Address): ProjectSummary['token']['program'] {
  return programAddress === TOKEN_2022_PROGRAM_ADDRESS ? 'token-2022' : 'spl-token';
}
