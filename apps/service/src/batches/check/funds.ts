import { MIN_VAULT_LAMPORTS, toDecimal } from '@flywheel/protocol';
import { requirements, withdrawnLamports } from '../../compile/totals.ts';
import { vaultOf } from '../../compile/vault.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { type Balance, balance, lamportBalance } from '../../model/vault-balance.ts';
import { type MissingTokenAccount, readVaultFunds } from '../../solana/vault.ts';
import type { Deps } from '../deps.ts';

/** Amounts that a batch takes from its vault, compared with the vault's balances. */
export interface Funds {
  /** Base units. */
  readonly tokens: Balance;
  /** Lamports for the rent of recipients’ token accounts, for withdrawals, and for the minimum that a vault must keep. */
  readonly lamports: Balance;
  readonly missingTokenAccounts: readonly MissingTokenAccount[];
  /** Reason why a registration would refuse the mint as it is now. It follows the words `Mint <address>`. */
  readonly mintProblem: string | null;
}

type Pipelines = readonly Pick<CompiledPipeline, 'actions' | 'instructions'>[];

/** Reads the funds for what the vault pays: burns, airdrops, withdrawals and the rent of recipients’ token accounts. */
export async function readFunds(
  { chain }: Pick<Deps, 'chain'>,
  project: Project,
  pipelines: Pipelines,
): Promise<Funds> {
  const { token, flywheel } = project;
  const { tokenAccount } = vaultOf(project);
  const { amountBaseUnits, withdrawnLamports: withdrawn, tokenAccounts } = requirements(pipelines, token);
  const { lamports, tokenBaseUnits, missingTokenAccounts, mintProblem } = await readVaultFunds(chain, {
    vault: flywheel.multisig.vault,
    token,
    tokenAccount,
    recipientTokenAccounts: tokenAccounts.map(({ address }) => address),
  });
  const creationLamports = missingTokenAccounts.reduce((sum, account) => sum + account.creationLamports, 0n);
  return {
    tokens: balance(amountBaseUnits, tokenBaseUnits),
    lamports: lamportBalance(creationLamports + withdrawn, lamports),
    missingTokenAccounts,
    mintProblem,
  };
}

/**
 * Describes what the vault lacks, one sentence for tokens and one for lamports; empty when it holds enough.
 * @param firstPosition position of the first given pipeline in its batch.
 */
export function describeMissingFunds(
  funds: Funds,
  project: Project,
  pipelines: Pipelines,
  firstPosition = 0,
): string[] {
  const { token, flywheel } = project;
  const { vault } = flywheel.multisig;
  const sentences: string[] = [];
  if (funds.tokens.missing > 0n) {
    const [holds, needs, missing] = [funds.tokens.available, funds.tokens.needed, funds.tokens.missing].map((tokens) =>
      toDecimal(tokens, token.decimals),
    );
    const position = firstUnpaid(
      funds.tokens.available,
      pipelines.map((pipeline) => requirements([pipeline], token).amountBaseUnits),
    );
    sentences.push(
      `The vault ${vault} holds ${holds} tokens; this batch needs ${needs}: ${missing} more. ` +
        `pipelines[${firstPosition + position}] is the first that it cannot pay.`,
    );
  }
  if (funds.lamports.missing > 0n) {
    const position = firstUnpaid(
      funds.lamports.available - MIN_VAULT_LAMPORTS,
      lamportCosts(funds, project, pipelines),
    );
    sentences.push(
      `The vault ${vault} holds ${funds.lamports.available} lamports; ${describeUse(funds, pipelines)}: ` +
        `${funds.lamports.missing} more. pipelines[${firstPosition + position}] is the first that it cannot pay.`,
    );
  }
  return sentences;
}

function describeUse({ lamports, missingTokenAccounts }: Funds, pipelines: Pipelines): string {
  const withdrawn = withdrawnLamports(pipelines);
  if (withdrawn > 0n) {
    return `the withdrawal takes ${withdrawn}, and must leave nothing or at least ${MIN_VAULT_LAMPORTS}`;
  }
  const creation = lamports.needed - MIN_VAULT_LAMPORTS;
  return `creating ${missingTokenAccounts.length} token accounts takes ${creation}, and it must keep ${MIN_VAULT_LAMPORTS}`;
}

/** Finds the position at which the running sum of the costs exceeds the available amount. */
function firstUnpaid(available: bigint, costs: readonly bigint[]): number {
  let spent = 0n;
  return costs.findIndex((cost) => {
    spent += cost;
    return cost > 0n && spent > available;
  });
}

/** Counts each missing token account at the first pipeline that names it: that one pays for it. */
function lamportCosts({ missingTokenAccounts }: Funds, { token }: Project, pipelines: Pipelines): bigint[] {
  const unpaid = new Map(missingTokenAccounts.map(({ address, creationLamports }) => [address, creationLamports]));
  return pipelines.map((pipeline) =>
    requirements([pipeline], token).tokenAccounts.reduce(
      (sum, { address }) => {
        const lamports = unpaid.get(address) ?? 0n;
        unpaid.delete(address);
        return sum + lamports;
      },
      withdrawnLamports([pipeline]),
    ),
  );
}
