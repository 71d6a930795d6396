/**
 * This is the SDK's own compilation of a pipeline, and it stays independent of the service's on purpose: a service that
 * compiles something else than it shows is found out by comparing the two. Only the bytes of single instructions come
 * from a library (`@solana-program/*`); the order, the accounts and the amounts are worked out here.
 */
import type { Action, Pipeline, WithdrawAction } from '@flywheel/api';
import {
  address,
  associatedTokenAddress,
  type DescribedInstruction,
  decimalOf,
  MEMO_PROGRAM_ADDRESS,
  parseAmount,
  proofMemo,
  SOL_DECIMALS,
} from '@flywheel/protocol';
import { type Address, createNoopSigner, type Instruction } from '@solana/kit';
import { getAddMemoInstruction } from '@solana-program/memo';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  getBurnCheckedInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token';

export interface VaultToken {
  readonly vault: Address;
  readonly mint: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
}

/** A pipeline that the vault executes: of an API client, or a withdrawal made in the console. */
export interface VaultPipeline extends Omit<Pipeline, 'actions'> {
  readonly actions: readonly (Action | WithdrawAction)[];
}

/**
 * Compiles what a pipeline may do on chain, and nothing else: its proof memo, then its actions in order.
 * @throws RangeError if an amount is not exact in the mint's decimals.
 */
export function expectedInstructions(pipeline: VaultPipeline, token: VaultToken): DescribedInstruction[] {
  const actions = pipeline.actions.flatMap((action) => compileAction(action, token));
  return [memo(proofMemo(pipeline), token), ...actions].map(toPlain);
}

function compileAction(action: Action | WithdrawAction, token: VaultToken): Instruction[] {
  const { vault, mint, tokenProgram, decimals } = token;
  switch (action.action) {
    case 'MEMO':
      return [memo(action.message, token)];
    case 'BURN': {
      const amount = parseAmount(decimalOf(action.amount), decimals);
      const account = tokenAccountOf(vault, token);
      const input = { account, mint, authority: createNoopSigner(vault), amount, decimals };
      return [getBurnCheckedInstruction(input, { programAddress: tokenProgram })];
    }
    case 'AIRDROP':
      return transfer(address(action.toAddress), parseAmount(decimalOf(action.amount), decimals), token);
    case 'WITHDRAW': {
      const destination = address(action.toAddress);
      if (action.asset === 'TOKEN') return transfer(destination, parseAmount(action.amount, decimals), token);
      const amount = parseAmount(action.amount, SOL_DECIMALS);
      return [getTransferSolInstruction({ source: createNoopSigner(vault), destination, amount })];
    }
    default:
      return action satisfies never;
  }
}

/** From the vault to a wallet, whose token account is created if it is missing. */
function transfer(recipient: Address, amount: bigint, token: VaultToken): Instruction[] {
  const { vault, mint, tokenProgram, decimals } = token;
  const authority = createNoopSigner(vault);
  const [source, destination] = [tokenAccountOf(vault, token), tokenAccountOf(recipient, token)];
  return [
    getCreateAssociatedTokenIdempotentInstruction({
      payer: authority,
      ata: destination,
      owner: recipient,
      mint,
      tokenProgram,
    }),
    // Token-2022 keeps the layouts of SPL Token.
    getTransferCheckedInstruction(
      { source, mint, destination, authority, amount, decimals },
      { programAddress: tokenProgram },
    ),
  ];
}

function memo(text: string, { vault }: VaultToken): Instruction {
  const input = { memo: text, signers: [createNoopSigner(vault)] };
  return getAddMemoInstruction(input, { programAddress: MEMO_PROGRAM_ADDRESS });
}

function tokenAccountOf(owner: Address, { mint, tokenProgram }: VaultToken): Address {
  return associatedTokenAddress({ owner, mint, tokenProgram });
}

/** Leaves the roles of accounts out: the comparison is of addresses. */
export function toPlain({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): DescribedInstruction {
  return { programAddress, accounts: accounts.map((account) => account.address), data };
}
