import { decodeMultisig } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Chain } from '../solana/chain.ts';
import { OPERATOR_PERMISSIONS } from '../squads/registration.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { findOpenIds } from '../store/batches/rotations.ts';
import type { Db } from '../store/db.ts';
import type { Jobs } from '../store/jobs/jobs.ts';
import { retireNonces } from '../store/nonces.ts';
import { findFlywheelsOf, type OperatedFlywheel, setRecovering } from '../store/projects/lost-operators.ts';

export interface RecoverDeps {
  readonly db: Db;
  readonly jobs: Pick<Jobs, 'enqueue'>;
  readonly chain: Pick<Chain, 'accounts'>;
  readonly clock: Clock;
}

export interface Recovery {
  /** Ids of the projects for which their recovery key acts from now on. */
  readonly recovered: readonly string[];
  /** Ids of the projects whose multisig has no recovery key. Their vaults stay locked. */
  readonly locked: readonly string[];
  /** Projects whose multisig on chain does not have both keys as the row says. They are as before. */
  readonly mismatched: readonly MismatchedProject[];
  /** Nonces of the lost operator that were removed from the pool. */
  readonly retiredNonces: number;
}

export interface MismatchedProject {
  readonly projectId: string;
  /** A sentence. */
  readonly reason: string;
}

/**
 * Lets the recovery keys act for an operator whose key is lost, in every project that has it: workers with the recovery key
 * then end the open batches, and execute the rotation that replaces the lost operator. One project that the chain contradicts
 * keeps no other one from that. May be repeated.
 */
export async function recoverOperator(deps: RecoverDeps, lost: Address): Promise<Recovery> {
  const flywheels = await findFlywheelsOf(deps.db, lost);
  const recovered: string[] = [];
  const locked: string[] = [];
  const mismatched: MismatchedProject[] = [];
  for (const { recovery, ...flywheel } of flywheels) {
    const { projectId, multisig } = flywheel;
    if (recovery === null) {
      locked.push(projectId);
      continue;
    }
    const reason = await findMismatch(deps, multisig, [lost, recovery]);
    if (reason !== null) {
      mismatched.push({ projectId, reason });
      continue;
    }
    await recover(deps, lost, { ...flywheel, recovery });
    recovered.push(projectId);
  }
  return { recovered, locked, mismatched, retiredNonces: await retireNonces(deps.db, lost) };
}

async function recover(
  { db, jobs, clock }: RecoverDeps,
  lost: Address,
  { id, projectId, multisig, recovery }: OperatedFlywheel & { readonly recovery: Address },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    if (!(await setRecovering(trx, id, lost))) return;
    const change = { before: { operator: lost }, after: { operator: recovery } };
    const entry = { at: clock.now(), actor: recovery, action: 'operator.recovered', projectId } as const;
    await insertAuditEntry(trx, { ...entry, ...change });
    // The job ends a batch that only the lost operator could have paid for, and continues one that is approved.
    for (const batchId of await findOpenIds(trx, id)) await jobs.enqueue(trx, { type: 'execute', batchId, multisig });
  });
}

/** Compares the members of a multisig on chain with its row. Returns null if they are the same, otherwise a sentence. */
async function findMismatch(
  { chain }: RecoverDeps,
  multisig: Address,
  [lost, recovery]: readonly [Address, Address],
): Promise<string | null> {
  const [account] = await chain.accounts([multisig], { commitment: 'finalized' });
  if (!account)
    return `The cluster's finalized state has no multisig ${multisig}. A new one is there after about 15 s.`;
  const { members, rentCollector } = decodeMultisig(account);
  for (const key of [lost, recovery]) {
    const mask = members.find((member) => member.key === key)?.permissions.mask;
    if (mask !== OPERATOR_PERMISSIONS) return `${key} does not propose and execute in the multisig ${multisig}.`;
  }
  return rentCollector === lost
    ? null
    : `The rent of the multisig ${multisig} goes to ${rentCollector}, not to ${lost}.`;
}
