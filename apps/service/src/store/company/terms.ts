import type { CompanyTerms } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Project } from '../../model/project.ts';
import type { Db } from '../db.ts';

/** The batches of one multisig that workers approve without a person, and the token that the limits count. */
export interface RecordedTerms extends CompanyTerms {
  readonly mint: Address;
}

/**
 * Locks the terms of a project's multisig until the transaction ends. The first call records them as the project has them.
 * @param isKept false: records the project's present ones again.
 */
export async function lockTerms(
  trx: Db,
  project: Project,
  { isKept }: { readonly isKept: boolean },
): Promise<RecordedTerms> {
  const { multisig } = project.flywheel;
  const terms = { mint: project.token.mint, ...toColumns(termsOf(project)) };
  const row = await trx
    .insertInto('company_terms')
    .values({ multisig: multisig.address, ...terms })
    .onConflict((conflict) =>
      // A row that is kept is written as it is, which locks it.
      conflict
        .column('multisig')
        .doUpdateSet((eb) => (isKept ? { approval_mode: eb.ref('company_terms.approval_mode') } : terms)),
    )
    .returning(['mint', 'approval_mode', 'burn_limit', 'airdrop_limit'])
    .executeTakeFirstOrThrow();
  return { mint: row.mint, ...toTerms(row) };
}

/** Replaces the terms of a multisig. */
export async function updateTerms(trx: Db, multisig: Address, terms: CompanyTerms): Promise<void> {
  await trx.updateTable('company_terms').set(toColumns(terms)).where('multisig', '=', multisig).execute();
}

/** Reads the terms of a multisig; null before its first batch is set up. */
export async function findTerms(db: Db, multisig: Address): Promise<CompanyTerms | null> {
  const row = await db
    .selectFrom('company_terms')
    .select(['approval_mode', 'burn_limit', 'airdrop_limit'])
    .where('multisig', '=', multisig)
    .executeTakeFirst();
  return row ? toTerms(row) : null;
}

/** The terms of a project as its registration and its own settings have them. */
export function termsOf({ approvalMode, dailyLimits }: Pick<Project, 'approvalMode' | 'dailyLimits'>): CompanyTerms {
  return { approvalMode, ...dailyLimits };
}

interface TermsRow {
  readonly approval_mode: CompanyTerms['approvalMode'];
  readonly burn_limit: bigint;
  readonly airdrop_limit: bigint;
}

function toColumns({ approvalMode, burnBaseUnits, airdropBaseUnits }: CompanyTerms): TermsRow {
  return { approval_mode: approvalMode, burn_limit: burnBaseUnits, airdrop_limit: airdropBaseUnits };
}

function toTerms(row: TermsRow): CompanyTerms {
  return { approvalMode: row.approval_mode, burnBaseUnits: row.burn_limit, airdropBaseUnits: row.airdrop_limit };
}
