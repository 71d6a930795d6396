import type { VaultFunds } from '@flywheel/api';
import { toDecimal } from '@flywheel/protocol';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { requirements } from '../compile/totals.ts';
import { vaultOf } from '../compile/vault.ts';
import { answerWithin, type Clock } from '../model/clock.ts';
import type { Log } from '../model/log.ts';
import type { Project, Token } from '../model/project.ts';
import { type Balance, balance, lamportBalance } from '../model/vault-balance.ts';
import type { Chain } from '../solana/chain.ts';
import { readVaultFunds } from '../solana/vault.ts';
import { findRemainingPipelines, findTokenAccountsToCreate, type OpenBatch } from '../store/batches/open-batches.ts';
import type { Db } from '../store/db.ts';

export interface FundsDeps {
  readonly db: Db;
  readonly chain: Pick<Chain, 'accounts' | 'minimumBalanceForRentExemption'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Balances of a vault, compared with what all open batches of its project take from it. */
export interface VaultNeeds {
  /** Base units. */
  readonly tokens: Balance;
  readonly lamports: Balance;
}

/** The screen shows everything else meanwhile. */
const CLUSTER_TIMEOUT_MS = 3_000;
/** Ten requests to the node. Rent for further recipients is not counted. */
const MAX_TOKEN_ACCOUNTS = 1_000;

/** Reads a vault's balances; null if the cluster does not answer in time. Counts rent for up to 1,000 recipients. */
export async function readVaultNeeds(
  deps: FundsDeps,
  project: Project,
  open: readonly OpenBatch[],
): Promise<VaultNeeds | null> {
  try {
    return await answerWithin(deps.clock, CLUSTER_TIMEOUT_MS, computeNeeds(deps, project, open));
  } catch (error) {
    deps.log.warn({ err: error, projectId: project.id }, 'the funds of a vault cannot be read');
    return null;
  }
}

/** Presents funds: tokens as whole tokens, SOL in lamports. */
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

async function computeNeeds(deps: FundsDeps, project: Project, open: readonly OpenBatch[]): Promise<VaultNeeds> {
  const { token, flywheel } = project;
  const { whole, partial } = split(open);
  const [remaining, tokenAccounts] = await Promise.all([
    findRemainingPipelines(deps.db, partial),
    findTokenAccountsToCreate(
      deps.db,
      whole.map(({ id }) => id),
      { creator: ASSOCIATED_TOKEN_PROGRAM_ADDRESS, limit: MAX_TOKEN_ACCOUNTS },
    ),
  ]);
  const rest = requirements(remaining, token);
  const funds = await readVaultFunds(deps.chain, {
    vault: flywheel.multisig.vault,
    token,
    tokenAccount: vaultOf(project).tokenAccount,
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
 * Separates batches whose pipelines must be read: those that are executed in part, and those that may withdraw. The row
 * of a batch is enough for all others.
 */
function split(open: readonly OpenBatch[]): { readonly whole: OpenBatch[]; readonly partial: OpenBatch[] } {
  const isPartial = ({ executedPipelines, amountBaseUnits }: OpenBatch) =>
    executedPipelines > 0 || amountBaseUnits === 0n;
  return { whole: open.filter((batch) => !isPartial(batch)), partial: open.filter(isPartial) };
}
