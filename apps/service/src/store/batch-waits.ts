import type { WaitsFor } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';

/** Condition on a row of `batches`: a person must decide for the company, and has not. An ended batch may meet it too. */
export const awaitsCompanySql: RawBuilder<boolean> = sql`(company_asked_at is not null and company_decided_at is null)`;

/** Condition on a row of `batches`: its wallet has signed, and no decision of the company is missing. */
export const isApprovedSql: RawBuilder<boolean> = sql`(signed_tx is not null and not ${awaitsCompanySql})`;

/** The approvals of batches that count: by whom, and at which time. */
export interface ApprovalCount {
  /** The operators of the company: an approval of one who has left does not count. */
  readonly operators: ReadonlySet<Address>;
  readonly now: Date;
}

/** Condition on a row of `company_decisions`: it is an approval that counts. */
export function approvalCountsSql({ operators, now }: ApprovalCount): RawBuilder<boolean> {
  return sql`(decision = 'approve' and operator = any(${[...operators]}::text[]) and expires_at > ${now})`;
}

/** Name of the party or step that an open batch waits for. The company may decide before the setup is finished. */
export const openBatchWaitsForSql: RawBuilder<Exclude<WaitsFor, 'close' | 'nothing'>> = sql`
  case
    when ${awaitsCompanySql} then 'company'
    when status = 'AVAILABLE_TO_QUEUE' then 'setup'
    when signed_tx is null then 'wallet'
    else 'execution'
  end`;
