import type { Address } from '@solana/kit';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { type DailyTotals, toBaseUnits } from '../model/amount.ts';
import type { BatchAction, CompiledPipeline } from '../model/batch.ts';
import type { Token } from '../model/project.ts';
import { withdrawnBaseUnits, withdrawnLamports } from './withdraw.ts';

/** What the pipelines burn and airdrop; a withdrawal is neither. A sum may exceed what one token account holds; the daily limit decides. */
export function dailyTotals(
  pipelines: readonly Pick<CompiledPipeline, 'actions'>[],
  { decimals }: Pick<Token, 'decimals'>,
): DailyTotals {
  let burnBaseUnits = 0n;
  let airdropBaseUnits = 0n;
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'BURN') burnBaseUnits += toBaseUnits(action.amount, decimals);
    if (action.action === 'AIRDROP') airdropBaseUnits += toBaseUnits(action.amount, decimals);
  }
  return { burnBaseUnits, airdropBaseUnits };
}

/** Whether an action takes tokens from the vault. */
export function movesTokens(action: BatchAction): boolean {
  switch (action.action) {
    case 'BURN':
    case 'AIRDROP':
      return true;
    case 'WITHDRAW':
      return action.asset === 'TOKEN';
    case 'MEMO':
    case 'ROTATE':
      return false;
    default:
      return action satisfies never;
  }
}

/** What a vault must hold for a batch to go through. */
export interface Requirements {
  /** Tokens that leave the vault. */
  readonly amountBaseUnits: bigint;
  /** SOL that is withdrawn from the vault. */
  readonly withdrawnLamports: bigint;
  /** Every token account that the batch creates if it is missing by then, once. The vault pays each one's rent. */
  readonly tokenAccounts: readonly { readonly owner: Address; readonly address: Address }[];
}

export function requirements(
  pipelines: readonly Pick<CompiledPipeline, 'actions' | 'instructions'>[],
  token: Pick<Token, 'decimals'>,
): Requirements {
  const { burnBaseUnits, airdropBaseUnits } = dailyTotals(pipelines, token);
  const owners = new Map<Address, Address>();
  for (const { programAddress, accounts } of pipelines.flatMap(({ instructions }) => instructions)) {
    if (programAddress !== ASSOCIATED_TOKEN_PROGRAM_ADDRESS) continue;
    // The program's order: payer, token account, owner.
    const [, tokenAccount, owner] = accounts ?? [];
    if (tokenAccount && owner) owners.set(tokenAccount.address, owner.address);
  }
  return {
    amountBaseUnits: burnBaseUnits + airdropBaseUnits + withdrawnBaseUnits(pipelines, token),
    withdrawnLamports: withdrawnLamports(pipelines),
    tokenAccounts: [...owners].map(([address, owner]) => ({ owner, address })),
  };
}
