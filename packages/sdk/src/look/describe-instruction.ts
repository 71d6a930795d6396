import { getU64Decoder } from '@solana/kit';
import { toDecimal } from '../amounts.ts';
import { startsWith } from '../chain/discriminators.ts';
import {
  BURN_CHECKED,
  type PlainInstruction,
  SOL_DECIMALS,
  TRANSFER_CHECKED,
  TRANSFER_SOL,
  type VaultToken,
} from '../chain/instructions.ts';
import { ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';

/** What an instruction of the vault does, in words, read from its own bytes. */
export function describeInstruction(instruction: PlainInstruction, token: VaultToken): string {
  const { program, accounts, data } = instruction;
  if (program === MEMO_PROGRAM) return `memo “${new TextDecoder().decode(new Uint8Array(data))}”`;
  if (program === ASSOCIATED_TOKEN_PROGRAM && data.length === 1) {
    return `create the token account of ${accounts[2] ?? 'nobody'} if it is missing`;
  }
  if (program === token.tokenProgram && data.length === CHECKED_BYTES) {
    const amount = toDecimal(getU64Decoder().decode(data, 1), data[9] ?? 0);
    if (data[0] === BURN_CHECKED) return `burn ${amount}`;
    if (data[0] === TRANSFER_CHECKED) return `transfer ${amount} to the token account ${accounts[2] ?? 'none'}`;
  }
  if (program === SYSTEM_PROGRAM && data.length === TRANSFER_BYTES && startsWith(data, TRANSFER_SOL)) {
    const sol = toDecimal(getU64Decoder().decode(data, TRANSFER_SOL.length), SOL_DECIMALS);
    return `transfer ${sol} SOL to ${accounts[1] ?? 'nobody'}`;
  }
  return `a call of ${program} with ${data.length} bytes and ${accounts.length} accounts`;
}

/** Kind, amount, decimals. */
const CHECKED_BYTES = 10;
/** Kind, lamports. */
const TRANSFER_BYTES = 12;
