import { requirements } from '../compile/totals.ts';
import { vaultOf } from '../compile/vault.ts';
import { formatTokens } from '../model/amount.ts';
import type { Batch } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { readVaultFunds } from '../solana/vault.ts';
import type { Deps } from './deps.ts';

/** A system account without bytes must hold this much or nothing: rent for its 128 bytes of metadata. */
const MIN_VAULT_LAMPORTS = 890_880n;

/**
 * What the vault lacks for a batch, a sentence each; empty when it holds enough. The vault pays the burns, the
 * airdrops and the rent of recipients’ token accounts; the operator pays everything else.
 */
export async function findMissingFunds({ chain }: Deps, project: Project, batch: Batch): Promise<string[]> {
  const { token, flywheel } = project;
  const { vault } = flywheel.multisig;
  const { tokenAccount } = await vaultOf(project);
  const { amountBaseUnits, tokenAccounts } = requirements(batch.pipelines, token);
  const recipientTokenAccounts = tokenAccounts.map(({ address }) => address);
  const funds = await readVaultFunds(chain, { vault, token, tokenAccount, recipientTokenAccounts });
  const problems: string[] = [];
  if (funds.tokenBaseUnits < amountBaseUnits) {
    const [holds, needs, missing] = [funds.tokenBaseUnits, amountBaseUnits, amountBaseUnits - funds.tokenBaseUnits].map(
      (tokens) => formatTokens(tokens, token.decimals),
    );
    problems.push(`The vault ${vault} holds ${holds} tokens; this batch needs ${needs}: ${missing} more.`);
  }
  const accounts = BigInt(funds.missingTokenAccounts.length);
  const rentLamports = accounts * funds.rentPerTokenAccountLamports;
  const left = funds.lamports - rentLamports;
  if (accounts > 0n && left !== 0n && left < MIN_VAULT_LAMPORTS) {
    problems.push(
      `The vault ${vault} holds ${funds.lamports} lamports; creating ${accounts} token accounts takes ${rentLamports}, ` +
        `and it must keep ${MIN_VAULT_LAMPORTS}: ${MIN_VAULT_LAMPORTS - left} more.`,
    );
  }
  return problems;
}
