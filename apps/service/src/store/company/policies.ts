import { type CompanyPolicy, fromPolicyJson, toPolicyJson } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Db } from '../db.ts';

/** A version of the company's rules for a project. */
export interface PolicyVersion {
  readonly version: number;
  /** The token whose base units the amounts are. */
  readonly mint: Address;
  readonly policy: CompanyPolicy;
  /** The wallet that signed it. */
  readonly operator: Address;
  readonly appliedAt: Date;
}

/** Lists the versions of a multisig's policy, newest first. Empty if none was set. */
export async function findPolicyVersions(db: Db, multisig: Address, limit: number): Promise<PolicyVersion[]> {
  const rows = await selectVersions(db, multisig).orderBy('version', 'desc').limit(limit).execute();
  return rows.map(toVersion);
}

/** Lists the versions that were in force at any time from `since` on, the present one included, newest first. */
export async function findVersionsSince(db: Db, multisig: Address, since: Date): Promise<PolicyVersion[]> {
  const rows = await selectVersions(db, multisig)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('company_policies as later')
            .select('later.version')
            .where('later.multisig', '=', multisig)
            .whereRef('later.version', '>', 'company_policies.version')
            .where('later.applied_at', '<=', since),
        ),
      ),
    )
    .orderBy('version', 'desc')
    .execute();
  return rows.map(toVersion);
}

/** Stores a version. The caller must hold the lock of the multisig's terms. */
export async function insertPolicy(trx: Db, multisig: Address, next: PolicyVersion): Promise<void> {
  const { version, mint, policy, operator, appliedAt } = next;
  await trx
    .insertInto('company_policies')
    .values({
      multisig,
      version,
      mint,
      policy: JSON.stringify(toPolicyJson(policy)),
      operator,
      applied_at: appliedAt,
    })
    .execute();
}

function selectVersions(db: Db, multisig: Address) {
  return db
    .selectFrom('company_policies')
    .select(['version', 'mint', 'policy', 'operator', 'applied_at as appliedAt'])
    .where('company_policies.multisig', '=', multisig);
}

type VersionRow = Awaited<ReturnType<ReturnType<typeof selectVersions>['execute']>>[number];

function toVersion({ policy, ...row }: VersionRow): PolicyVersion {
  return { ...row, policy: fromPolicyJson(policy) };
}
