import type { CompanyTerms } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Project } from '../../model/project.ts';
import type { Db } from '../db.ts';

/** The batches of one multisig that workers approve without a person, and the token that the limits count. */
export interface RecordedTerms extends CompanyTerms {
  readonly mint: Address;
}

/**
 * Checks if recorded terms stay until a company operator signs others. A company without operators cannot sign terms, so the
 * project's own terms apply, unless some were signed before.
 */
export function keepsRecordedTerms({ companyOperators }: { readonly companyOperators: ReadonlySet<Address> }): boolean {
  return companyOperators.size > 0;
}

/**
 * Locks the terms of a project's multisig until the transaction ends. Records them as the project has them if there are none.
 * @param isKept false: records the project's present ones again, unless an operator has signed others.
 */
export async function lockTerms(
  trx: Db,
  project: Project,
  { isKept }: { readonly isKept: boolean },
): Promise<RecordedTerms> {
  const { multisig } = project.flywheel;
  const own = { mint: project.token.mint, ...toColumns(termsOf(project)) };
  const row = await trx
    .insertInto('company_terms')
    .values({ multisig: multisig.address, ...own })
    // A row that is there is written as it is, which locks it.
    .onConflict((conflict) =>
      conflict.column('multisig').doUpdateSet(({ ref }) => ({ approval_mode: ref('company_terms.approval_mode') })),
    )
    .returning(['mint', 'approval_mode', 'burn_limit', 'airdrop_limit', 'is_signed'])
    .executeTakeFirstOrThrow();
  if (isKept || row.is_signed) return { mint: row.mint, ...toTerms(row) };
  await trx.updateTable('company_terms').set(own).where('multisig', '=', multisig.address).execute();
  return { mint: own.mint, ...termsOf(project) };
}

/** Records the terms of projects that have none yet, as their rows have them. */
export async function recordFirstTerms(db: Db): Promise<void> {
  await db
    .insertInto('company_terms')
    .columns(['multisig', 'mint', 'approval_mode', 'burn_limit', 'airdrop_limit'])
    .expression(
      db
        .selectFrom('projects')
        .innerJoin('flywheels', 'flywheels.project_id', 'projects.id')
        .innerJoin('tokens', 'tokens.project_id', 'projects.id')
        .select(['multisig', 'mint', 'approval_mode', 'burn_limit', 'airdrop_limit'])
        .where('flywheels.archived_at', 'is', null)
        .where('tokens.archived_at', 'is', null)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('company_terms')
                .select('multisig')
                .whereRef('company_terms.multisig', '=', 'flywheels.multisig'),
            ),
          ),
        ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Replaces the terms of a multisig by those that an operator has signed. */
export async function updateTerms(trx: Db, multisig: Address, terms: CompanyTerms): Promise<void> {
  const signed = { ...toColumns(terms), is_signed: true };
  await trx.updateTable('company_terms').set(signed).where('multisig', '=', multisig).execute();
}

/** Counts the multisigs whose terms an operator has signed. */
export async function countSignedTerms(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('company_terms')
    .select((eb) => eb.fn.countAll<bigint>().as('count'))
    .where('is_signed', '=', true)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/**
 * Reads the terms of a multisig; null before a worker has recorded them.
 * @param isKept false: null as well unless an operator has signed them, because workers then take them from the project.
 */
export async function findTerms(
  db: Db,
  multisig: Address,
  { isKept }: { readonly isKept: boolean },
): Promise<CompanyTerms | null> {
  const row = await db
    .selectFrom('company_terms')
    .select(['approval_mode', 'burn_limit', 'airdrop_limit', 'is_signed'])
    .where('multisig', '=', multisig)
    .executeTakeFirst();
  return row && (isKept || row.is_signed) ? toTerms(row) : null;
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
