import type { VaultFunds } from '@flywheel/api';
import { toDecimal } from '@flywheel/protocol';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { requirements } from '../../compile/totals.ts';
import { vaultOf } from '../../compile/vault.ts';
import type { Clock } from '../../model/clock.ts';
import { answerWithin } from '../../model/clock.ts';
import type { Project, Token } from '../../model/project.ts';
import { type Balance, balance, lamportBalance } from '../../model/vault-balance.ts';
import type { Chain } from '../../solana/chain.ts';
import { readVaultFunds } from '../../solana/vault.ts';
import { findRemainingPipelines, findTokenAccountsToCreate, type OpenBatch } from '../../store/batches/open-batches.ts';
import type { Db } from '../../store/db.ts';

export interface FundsDeps {
  readonly db: Db;
  readonly chain: Pick<Chain, 'accounts' | 'minimumBalanceForRentExemption'>;
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void };
}

/** What a vault holds, and what the open batches of its project take from it together. */
export interface VaultNeeds {
  /** Base units. */
  readonly tokens: Balance;
  readonly lamports: Balance;
}

/** A page that shows the rest is better than one that waits. */
const PATIENCE_MS = 3_000;
/** Ten questions to the node. Of further recipients it is not asked whether the vault has accounts to pay for them. */
const MAX_TOKEN_ACCOUNTS = 1_000;

/** Null while the cluster does not answer. Exact but for the rent of more than a thousand recipients. */
export async function readVaultNeeds(
  deps: FundsDeps,
  project: Project,
  open: readonly OpenBatch[],
): Promise<VaultNeeds | null> {
  try {
    return await answerWithin(deps.clock, PATIENCE_MS, reckon(deps, project, open));
  } catch (error) {
    deps.log.warn({ err: error, projectId: project.id }, 'a vault cannot be read');
    return null;
  }
}

/** Tokens as whole tokens, lamports as they are. */
export function presentFunds({ tokens, lamports }: VaultNeeds, { decimals }: Pick<Token, 'decimals'>): VaultFunds {
  const present = ({ available, needed, missing }: Balance, show: (amount: bigint) => string) => ({
    available: show(available),
    needed: show(needed),
    missing: show(missing),
  });
  return {
    tokens: present(tokens, (amount) => toDecimal(amount, decimals)),
    lamports: present(lamports, String),
  };
}

async function reckon(deps: FundsDeps, project: Project, open: readonly OpenBatch[]): Promise<VaultNeeds> {
  const { token, flywheel } = project;
  const { whole, partial } = split(open);
  const [remaining, tokenAccounts, { tokenAccount }] = await Promise.all([
    findRemainingPipelines(deps.db, partial),
    findTokenAccountsToCreate(
      deps.db,
      whole.map(({ id }) => id),
      { creator: ASSOCIATED_TOKEN_PROGRAM_ADDRESS, limit: MAX_TOKEN_ACCOUNTS },
    ),
    vaultOf(project),
  ]);
  const rest = requirements(remaining, token);
  const funds = await readVaultFunds(deps.chain, {
    vault: flywheel.multisig.vault,
    token,
    tokenAccount,
    recipientTokenAccounts: [...rest.tokenAccounts.map(({ address }) => address), ...tokenAccounts].slice(
      0,
      MAX_TOKEN_ACCOUNTS,
    ),
  });
  const spentLamports = funds.missingTokenAccounts.reduce(
    (sum, { creationLamports }) => sum + creationLamports,
    rest.withdrawnLamports,
  );
  const amountBaseUnits = whole.reduce((sum, batch) => sum + batch.amountBaseUnits, rest.amountBaseUnits);
  return {
    tokens: balance(amountBaseUnits, funds.tokenBaseUnits),
    lamports: lamportBalance(spentLamports, funds.lamports),
  };
}

/**
 * Of a batch that is executed in part, and of one that neither burns nor airdrops but may withdraw, the pipelines
 * themselves must be read; of all others the row of the batch says enough.
 */
function split(open: readonly OpenBatch[]): { readonly whole: OpenBatch[]; readonly partial: OpenBatch[] } {
  const isPartial = ({ executedPipelines, amountBaseUnits }: OpenBatch) =>
    executedPipelines > 0 || amountBaseUnits === 0n;
  return { whole: open.filter((batch) => !isPartial(batch)), partial: open.filter(isPartial) };
}
