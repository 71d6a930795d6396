import { type Address, address } from '@solana/kit';
import { parseWithdrawn, withdrawals } from '../../compile/withdraw.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Deps } from '../deps.ts';

/** What is wrong with SOL that is withdrawn to addresses without an account: less than an account's rent cannot arrive. */
export async function checkNewAccounts(
  { chain }: Pick<Deps, 'chain'>,
  pipelines: readonly Pick<CompiledPipeline, 'actions'>[],
): Promise<string[]> {
  const withdrawn = withdrawals(pipelines, 'SOL');
  if (withdrawn.length === 0) return [];
  const recipients = withdrawn.map(({ toAddress }) => address(toAddress));
  const [missing, rentLamports] = await Promise.all([
    findMissingAccounts({ chain }, recipients),
    chain.minimumBalanceForRentExemption(0),
  ]);
  return withdrawn.flatMap((withdrawal) => {
    const lamports = parseWithdrawn(withdrawal, { decimals: 0 });
    if (!missing.has(address(withdrawal.toAddress)) || lamports >= rentLamports) return [];
    return `${withdrawal.toAddress} is new on chain: it must get at least ${rentLamports} lamports, not ${lamports}.`;
  });
}

/** Those at which the chain holds nothing. */
export async function findMissingAccounts(
  { chain }: Pick<Deps, 'chain'>,
  addresses: readonly Address[],
): Promise<ReadonlySet<Address>> {
  const accounts = await chain.accounts(addresses);
  return new Set(addresses.filter((_, i) => accounts[i] === null));
}
