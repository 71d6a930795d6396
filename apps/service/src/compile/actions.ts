import type { Action, WithdrawAction } from '@flywheel/api';
import { address, MEMO_PROGRAM_ADDRESS, parseAmount, parseAmountNumber, SOL_DECIMALS } from '@flywheel/protocol';
import { AccountRole, type Address, type Instruction } from '@solana/kit';
import { getAddMemoInstructionDataEncoder } from '@solana-program/memo';
import { getTransferSolInstruction } from '@solana-program/system';
import {
  getBurnCheckedInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token';
import type { VaultAction } from '../model/batch.ts';
import { plainInstruction } from '../model/plain-instruction.ts';
import type { Token } from '../model/project.ts';
import type { Vault } from './vault.ts';

/**
 * Compiles an action to instructions that the vault signs.
 * @throws RangeError for an amount that the mint cannot express.
 */
export function compileAction(action: VaultAction, vault: Vault): Instruction[] {
  switch (action.action) {
    case 'BURN':
      return [compileBurn(action, vault)];
    case 'AIRDROP':
      return compileTransfer(address(action.toAddress), parseAmountNumber(action.amount, vault.token.decimals), vault);
    case 'MEMO':
      return [compileMemo(action.message, vault)];
    case 'WITHDRAW':
      return compileWithdrawal(action, vault);
    default:
      return action satisfies never;
  }
}

/** Compiles a memo that the vault signs, so that the chain attests its author. */
export function compileMemo(text: string, { address }: Pick<Vault, 'address'>): Instruction {
  return {
    programAddress: MEMO_PROGRAM_ADDRESS,
    accounts: [{ address, role: AccountRole.READONLY_SIGNER }],
    data: getAddMemoInstructionDataEncoder().encode({ memo: text }),
  };
}

/**
 * Parses the amount of a withdrawal to lamports, or to the token's base units.
 * @throws RangeError as `parseAmount`.
 */
export function parseWithdrawnAmount(
  { asset, amount }: Pick<WithdrawAction, 'asset' | 'amount'>,
  { decimals }: Pick<Token, 'decimals'>,
): bigint {
  return parseAmount(amount, asset === 'SOL' ? SOL_DECIMALS : decimals);
}

/** Token-2022 has the same instruction as SPL Token, so one builder serves both programs. */
function compileBurn(
  { amount }: Extract<Action, { action: 'BURN' }>,
  { token, tokenAccount, signer }: Vault,
): Instruction {
  return plainInstruction(
    getBurnCheckedInstruction(
      {
        account: tokenAccount,
        mint: token.mint,
        authority: signer,
        amount: parseAmountNumber(amount, token.decimals),
        decimals: token.decimals,
      },
      { programAddress: token.programAddress },
    ),
  );
}

function compileWithdrawal(action: WithdrawAction, vault: Vault): Instruction[] {
  const destination = address(action.toAddress);
  const amount = parseWithdrawnAmount(action, vault.token);
  if (action.asset === 'TOKEN') return compileTransfer(destination, amount, vault);
  return [plainInstruction(getTransferSolInstruction({ source: vault.signer, destination, amount }))];
}

/**
 * Compiles a transfer to a recipient's associated token account. The creation of that account is always included, and
 * does nothing if it exists: whether it does may change between init and execution.
 */
function compileTransfer(
  recipient: Address,
  amountBaseUnits: bigint,
  { token, tokenAccount, signer, tokenAccountOf }: Vault,
): Instruction[] {
  const recipientTokenAccount = tokenAccountOf(recipient);
  return [
    getCreateAssociatedTokenIdempotentInstruction({
      payer: signer,
      ata: recipientTokenAccount,
      owner: recipient,
      mint: token.mint,
      tokenProgram: token.programAddress,
    }),
    getTransferCheckedInstruction(
      {
        source: tokenAccount,
        mint: token.mint,
        destination: recipientTokenAccount,
        authority: signer,
        amount: amountBaseUnits,
        decimals: token.decimals,
      },
      { programAddress: token.programAddress },
    ),
  ].map(plainInstruction);
}
