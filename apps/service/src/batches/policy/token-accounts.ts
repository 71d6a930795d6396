import type { Address } from '@solana/kit';
import { requirements } from '../../compile/totals.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Project, Token } from '../../model/project.ts';
import { findMissingTokenAccounts } from '../../solana/vault.ts';
import { findUnreadTokenAccounts, recordReadTokenAccounts } from '../../store/company/policy-uses.ts';
import type { Deps } from '../deps.ts';

type ReadDeps = Pick<Deps, 'db' | 'chain'>;

/** Lists the token accounts of a batch's recipients: the vault would pay for those that do not exist. */
export function recipientTokenAccounts(pipelines: readonly CompiledPipeline[], token: Token): Address[] {
  return requirements(pipelines, token).tokenAccounts.map(({ address }) => address);
}

/**
 * Looks up on chain which of its recipients' token accounts a batch would create, and those that other batches of the day count
 * without having looked. Must not run in a transaction: it waits for the node.
 * @returns those that the batch would create.
 */
export async function readTokenAccounts(
  deps: ReadDeps,
  project: Project,
  pipelines: readonly CompiledPipeline[],
  day: string,
): Promise<Address[]> {
  await readUnreadTokenAccounts(deps, project, day);
  const own = recipientTokenAccounts(pipelines, project.token);
  return deps.chain.decide(0n, (view) => findMissingTokenAccounts(view, project.token, own));
}

/**
 * Looks up on chain the token accounts that batches of a day count without having looked, so that those that exist no longer
 * count. An account that a node does not show yet counts on, and so do those of a batch that ends at this moment.
 */
export async function readUnreadTokenAccounts(
  { db, chain }: ReadDeps,
  { id: projectId, token }: Project,
  day: string,
): Promise<void> {
  for (;;) {
    const read = await findUnreadTokenAccounts(db, { projectId, day }, READ_AT_ONCE);
    if (read.length === 0) return;
    const missing = await chain.decide(0n, (view) => findMissingTokenAccounts(view, token, read));
    const recorded = await recordReadTokenAccounts(db, { projectId, day }, { read, missing });
    if (recorded === 0) return;
  }
}

/** Ten calls of a node. */
const READ_AT_ONCE = 1_000;
