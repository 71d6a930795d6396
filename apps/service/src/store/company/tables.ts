import type { ApprovalMode } from '@flywheel/api';
import type { KeyRole, PolicyJson } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { ColumnType, Generated } from 'kysely';

/** The tables of what the company decides, as migrations/ leaves them. */
export interface CompanyTables {
  company: CompanyTable;
  company_decisions: CompanyDecisionsTable;
  key_successions: KeySuccessionsTable;
  company_changes: CompanyChangesTable;
  company_reviews: CompanyReviewsTable;
  company_terms: CompanyTermsTable;
  company_pauses: CompanyPausesTable;
  company_totals: CompanyTotalsTable;
  company_rejections: CompanyRejectionsTable;
  company_admissions: CompanyAdmissionsTable;
  company_policies: CompanyPoliciesTable;
  company_uses: CompanyUsesTable;
  policy_uses: PolicyUsesTable;
  policy_sums: PolicySumsTable;
}

interface CompanyDecisionsTable {
  id: Generated<bigint>;
  batch_id: string;
  decision: 'approve' | 'reject';
  reason: string | null;
  operator: Address;
  nonce: string;
  expires_at: Date;
  /** The bytes as the wallet signed them. */
  signed_message: Uint8Array;
  signature: Uint8Array;
  decided_at: Date;
}

interface KeySuccessionsTable {
  genesis_hash: string;
  role: KeyRole;
  from_key: Address;
  to_key: Address;
  /** Base58. */
  signature: string;
  signed_at: Date;
}

/** Decisions that operators signed about terms, rules, a pause or an admission. HTTP processes write them. */
interface CompanyChangesTable {
  id: Generated<bigint>;
  /** null: all projects. */
  project_id: string | null;
  /** The start of the pause that a resumption ends. */
  paused_at: Date | null;
  admission: 'admit' | 'withdraw' | null;
  policy: ColumnType<PolicyJson | null, string | undefined, never>;
  policy_version: number | null;
  from_approval_mode: ApprovalMode | null;
  from_burn_limit: bigint | null;
  from_airdrop_limit: bigint | null;
  to_approval_mode: ApprovalMode | null;
  to_burn_limit: bigint | null;
  to_airdrop_limit: bigint | null;
  operator: Address;
  nonce: string;
  expires_at: Date;
  signed_message: Uint8Array;
  signature: Uint8Array;
  requested_at: Date;
}

/** Results of a worker's review of each decision. Only workers write this table and those after it, up to `company_uses`. */
interface CompanyReviewsTable {
  change_id: bigint;
  /** null: refused. */
  nonce: string | null;
  issue: string | null;
  reviewed_at: Date;
}

interface CompanyTermsTable {
  multisig: Address;
  mint: Address;
  approval_mode: ApprovalMode;
  burn_limit: bigint;
  airdrop_limit: bigint;
  /** True if an operator has signed them. */
  is_signed: Generated<boolean>;
}

interface CompanyPausesTable {
  /** null: all projects. */
  multisig: Address | null;
  paused_at: Date;
}

/** Batches that an operator of the company has rejected. */
interface CompanyRejectionsTable {
  multisig: Address;
  batch_index: bigint;
  reason: string;
}

interface CompanyTotalsTable {
  multisig: Address;
  batch_index: bigint;
  day: string;
  burned: Generated<bigint>;
  airdropped: Generated<bigint>;
}

/** A row exists while the company admits the project. */
interface CompanyAdmissionsTable {
  multisig: Address;
  admitted_at: Date;
}

/** The rules of the company for a project, every version. Written by workers only. */
interface CompanyPoliciesTable {
  multisig: Address;
  version: number;
  mint: Address;
  policy: ColumnType<PolicyJson, string, never>;
  operator: Address;
  applied_at: Date;
}

/** What batches that the company has signed take of the caps of a day. Written by workers only. */
interface CompanyUsesTable {
  multisig: Address;
  batch_index: bigint;
  day: string;
  kind: 'recipient' | 'type' | 'token-accounts';
  subject: string;
  amount: bigint;
}

/** What batches take of the caps of a day, as init counts it. */
interface PolicyUsesTable {
  batch_id: string;
  project_id: string;
  day: string;
  kind: 'recipient' | 'type' | 'token-account';
  subject: string;
  amount: bigint;
  /** False for a token account that was not looked up on chain yet. */
  is_read: Generated<boolean>;
}

/** Triggers of `policy_uses` write it. */
interface PolicySumsTable {
  project_id: string;
  day: string;
  kind: PolicyUsesTable['kind'] | 'token-accounts';
  subject: string;
  amount: bigint;
}

interface CompanyTable {
  only_row: Generated<boolean>;
  paused_at: Date | null;
  pause_reason: string | null;
}
