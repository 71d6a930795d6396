import type { WithdrawAction } from '@flywheel/api';
import { parseAmountNumber } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import type { BatchAction, CompiledPipeline } from '../model/batch.ts';
import type { DailyTotals, Token } from '../model/project.ts';
import { parseWithdrawnAmount } from './actions.ts';

type Pipelines = readonly Pick<CompiledPipeline, 'actions'>[];

/** Sums up burns and airdrops; withdrawals are not counted. A sum may exceed u64: the daily limit decides. */
export function dailyTotals(pipelines: Pipelines, { decimals }: Pick<Token, 'decimals'>): DailyTotals {
  let burnBaseUnits = 0n;
  let airdropBaseUnits = 0n;
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action === 'BURN') burnBaseUnits += parseAmountNumber(action.amount, decimals);
    if (action.action === 'AIRDROP') airdropBaseUnits += parseAmountNumber(action.amount, decimals);
  }
  return { burnBaseUnits, airdropBaseUnits };
}

/** Checks whether an action takes tokens from the vault. */
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

/** Funds that a vault needs for pipelines to succeed. */
export interface Requirements {
  /** Tokens that leave the vault. */
  readonly amountBaseUnits: bigint;
  /** SOL that is withdrawn from the vault. */
  readonly withdrawnLamports: bigint;
  /** Each token account that is created if it does not exist, once. The vault pays its rent. */
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
    // Order of the program's accounts: payer, token account, owner.
    const [, tokenAccount, owner] = accounts ?? [];
    if (tokenAccount && owner) owners.set(tokenAccount.address, owner.address);
  }
  return {
    amountBaseUnits: burnBaseUnits + airdropBaseUnits + sumWithdrawn(pipelines, 'TOKEN', token),
    withdrawnLamports: withdrawnLamports(pipelines),
    tokenAccounts: [...owners].map(([address, owner]) => ({ owner, address })),
  };
}

/** Sums up the SOL that pipelines withdraw, in lamports. */
export function withdrawnLamports(pipelines: Pipelines): bigint {
  return sumWithdrawn(pipelines, 'SOL', { decimals: 0 });
}

/** Lists the withdrawals of an asset. */
export function withdrawalsOf(pipelines: Pipelines, asset: WithdrawAction['asset']): WithdrawAction[] {
  return pipelines.flatMap(({ actions }) =>
    actions.filter((action) => action.action === 'WITHDRAW').filter((withdrawal) => withdrawal.asset === asset),
  );
}

function sumWithdrawn(pipelines: Pipelines, asset: WithdrawAction['asset'], token: Pick<Token, 'decimals'>): bigint {
  return withdrawalsOf(pipelines, asset).reduce((sum, withdrawal) => sum + parseWithdrawnAmount(withdrawal, token), 0n);
}
