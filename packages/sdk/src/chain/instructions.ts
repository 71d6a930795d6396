import type { Action, Pipeline, WithdrawAction } from '@flywheel/api';
import { type Address, address, getU64Encoder, type ReadonlyUint8Array } from '@solana/kit';
import { decimalOf, toBaseUnits } from '../amounts.ts';
import { proofMemo } from '../proof/proof-memo.ts';
import { tokenAccountAddress } from './addresses.ts';
import { ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM } from './programs.ts';

/** An instruction, its accounts by address. */
export interface PlainInstruction {
  readonly program: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyUint8Array;
}

export interface VaultToken {
  readonly vault: Address;
  readonly mint: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
}

/** A pipeline of the vault’s, whoever asked for it: an API client, or the console for a withdrawal. */
export interface VaultPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly (Action | WithdrawAction)[];
}

/** Instruction kinds of SPL Token, and of Token-2022 alike. */
export const TRANSFER_CHECKED = 12;
export const BURN_CHECKED = 15;
/** SystemInstruction::Transfer, a little-endian u32; lamports follow. */
export const TRANSFER_SOL: readonly number[] = [2, 0, 0, 0];
/** One SOL is 10^9 lamports. */
export const SOL_DECIMALS = 9;
/** Of the associated token program. */
const CREATE_IDEMPOTENT = 1;

/**
 * What a pipeline may do on chain and nothing else: its proof memo, then its actions in order. Worked out here from what
 * is shown, so that a service which compiles something else is found out.
 */
export async function instructionsOf(pipeline: VaultPipeline, token: VaultToken): Promise<PlainInstruction[]> {
  const actions = await Promise.all(pipeline.actions.map((action) => ofAction(action, token)));
  return [memo(await proofMemo(pipeline), token), ...actions.flat()];
}

async function ofAction(action: Action | WithdrawAction, token: VaultToken): Promise<PlainInstruction[]> {
  const { vault, mint, tokenProgram, decimals } = token;
  switch (action.action) {
    case 'MEMO':
      return [memo(action.message, token)];
    case 'BURN': {
      const source = await tokenAccountAddress(vault, mint, tokenProgram);
      return [
        {
          program: tokenProgram,
          accounts: [source, mint, vault],
          data: checked(BURN_CHECKED, decimalOf(action.amount), decimals),
        },
      ];
    }
    case 'AIRDROP':
      return transferOf(address(action.toAddress), decimalOf(action.amount), token);
    case 'WITHDRAW': {
      const destination = address(action.toAddress);
      if (action.asset === 'TOKEN') return transferOf(destination, action.amount, token);
      const lamports = baseUnitsOf(action.amount, SOL_DECIMALS);
      return [
        {
          program: SYSTEM_PROGRAM,
          accounts: [vault, destination],
          data: Uint8Array.of(...TRANSFER_SOL, ...getU64Encoder().encode(lamports)),
        },
      ];
    }
    default:
      return action satisfies never;
  }
}

/** From the vault to a wallet, whose token account is created where it is missing. */
async function transferOf(recipient: Address, amountTokens: string, token: VaultToken): Promise<PlainInstruction[]> {
  const { vault, mint, tokenProgram, decimals } = token;
  const [source, destination] = await Promise.all([
    tokenAccountAddress(vault, mint, tokenProgram),
    tokenAccountAddress(recipient, mint, tokenProgram),
  ]);
  return [
    {
      program: ASSOCIATED_TOKEN_PROGRAM,
      accounts: [vault, destination, recipient, mint, SYSTEM_PROGRAM, tokenProgram],
      data: Uint8Array.of(CREATE_IDEMPOTENT),
    },
    {
      program: tokenProgram,
      accounts: [source, mint, destination, vault],
      data: checked(TRANSFER_CHECKED, amountTokens, decimals),
    },
  ];
}

function memo(text: string, { vault }: VaultToken): PlainInstruction {
  return { program: MEMO_PROGRAM, accounts: [vault], data: new TextEncoder().encode(text) };
}

function checked(kind: number, amountTokens: string, decimals: number): Uint8Array {
  return Uint8Array.of(kind, ...getU64Encoder().encode(baseUnitsOf(amountTokens, decimals)), decimals);
}

function baseUnitsOf(amount: string, decimals: number): bigint {
  const baseUnits = toBaseUnits(amount, decimals);
  if (baseUnits === null) throw new Error(`${amount} has more than ${decimals} fraction digits.`);
  return baseUnits;
}
