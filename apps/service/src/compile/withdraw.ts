import type { WithdrawAction } from '@flywheel/api';
import { address, type Instruction } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { parseTokens } from '../model/amount.ts';
import type { CompiledPipeline } from '../model/batch.ts';
import type { Token } from '../model/project.ts';
import { transferCreating } from './airdrop.ts';
import { plainInstruction, type Vault } from './vault.ts';

/**
 * Moves SOL from the vault, or tokens from its token account to the recipient's, which is created where it is missing.
 * @throws RangeError as `parseTokens`.
 */
export async function withdraw(action: WithdrawAction, vault: Vault): Promise<Instruction[]> {
  const destination = address(action.toAddress);
  const amount = parseWithdrawn(action, vault.token);
  if (action.asset === 'TOKEN') return transferCreating(destination, amount, vault);
  return [getTransferSolInstruction({ source: vault.signer, destination, amount })].map(plainInstruction);
}

/** One SOL is 10^9 lamports. */
const SOL_DECIMALS = 9;

/** Lamports, or the token's base units. @throws RangeError as `parseTokens`. */
export function parseWithdrawn(
  { asset, amount }: Pick<WithdrawAction, 'asset' | 'amount'>,
  { decimals }: Pick<Token, 'decimals'>,
): bigint {
  return parseTokens(amount, asset === 'SOL' ? SOL_DECIMALS : decimals);
}

type Pipelines = readonly Pick<CompiledPipeline, 'actions'>[];

/** The SOL that pipelines withdraw. */
export function withdrawnLamports(pipelines: Pipelines): bigint {
  return sum(withdrawals(pipelines, 'SOL').map(({ amount }) => parseTokens(amount, SOL_DECIMALS)));
}

/** The tokens that pipelines withdraw. */
export function withdrawnBaseUnits(pipelines: Pipelines, { decimals }: Pick<Token, 'decimals'>): bigint {
  return sum(withdrawals(pipelines, 'TOKEN').map(({ amount }) => parseTokens(amount, decimals)));
}

/** The withdrawals of an asset among all that pipelines do. */
export function withdrawals(pipelines: Pipelines, asset: WithdrawAction['asset']): WithdrawAction[] {
  return pipelines.flatMap(({ actions }) =>
    actions.filter((action) => action.action === 'WITHDRAW').filter((withdrawal) => withdrawal.asset === asset),
  );
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
