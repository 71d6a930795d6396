import type { Action, Pipeline } from '@flywheel/api';
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

/** Instruction kinds of SPL Token, and of Token-2022 alike. */
export const TRANSFER_CHECKED = 12;
export const BURN_CHECKED = 15;
/** Of the associated token program. */
const CREATE_IDEMPOTENT = 1;

/**
 * What a pipeline may do on chain and nothing else: its proof memo, then its actions in order. Worked out here from what
 * is shown, so that a service which compiles something else is found out.
 */
export async function instructionsOf(pipeline: Pipeline, token: VaultToken): Promise<PlainInstruction[]> {
  const actions = await Promise.all(pipeline.actions.map((action) => ofAction(action, token)));
  return [memo(await proofMemo(pipeline), token), ...actions.flat()];
}

async function ofAction(action: Action, token: VaultToken): Promise<PlainInstruction[]> {
  const { vault, mint, tokenProgram } = token;
  switch (action.action) {
    case 'MEMO':
      return [memo(action.message, token)];
    case 'BURN': {
      const source = await tokenAccountAddress(vault, mint, tokenProgram);
      return [
        { program: tokenProgram, accounts: [source, mint, vault], data: checked(BURN_CHECKED, action.amount, token) },
      ];
    }
    case 'AIRDROP': {
      const recipient = address(action.toAddress);
      const [source, destination] = await Promise.all(
        [vault, recipient].map((owner) => tokenAccountAddress(owner, mint, tokenProgram)),
      );
      if (!source || !destination) throw new Error('Two owners have two token accounts.');
      return [
        {
          program: ASSOCIATED_TOKEN_PROGRAM,
          accounts: [vault, destination, recipient, mint, SYSTEM_PROGRAM, tokenProgram],
          data: Uint8Array.of(CREATE_IDEMPOTENT),
        },
        {
          program: tokenProgram,
          accounts: [source, mint, destination, vault],
          data: checked(TRANSFER_CHECKED, action.amount, token),
        },
      ];
    }
    default:
      return action satisfies never;
  }
}

function memo(text: string, { vault }: VaultToken): PlainInstruction {
  return { program: MEMO_PROGRAM, accounts: [vault], data: new TextEncoder().encode(text) };
}

function checked(kind: number, amountTokens: number, { decimals }: VaultToken): Uint8Array {
  const baseUnits = toBaseUnits(decimalOf(amountTokens), decimals);
  if (baseUnits === null) throw new Error(`${amountTokens} has more fraction digits than the token’s ${decimals}.`);
  return Uint8Array.of(kind, ...getU64Encoder().encode(baseUnits), decimals);
}
