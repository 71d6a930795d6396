import type { Address, ReadonlyUint8Array } from '@solana/kit';
import { LEGACY_MEMO_PROGRAM_ADDRESS_V3 } from '@solana-program/memo';
import {
  getTransferSolInstructionDataDecoder,
  SYSTEM_PROGRAM_ADDRESS,
  TRANSFER_SOL_DISCRIMINATOR,
} from '@solana-program/system';
import {
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  BURN_CHECKED_DISCRIMINATOR,
  CREATE_ASSOCIATED_TOKEN_IDEMPOTENT_DISCRIMINATOR,
  getTransferCheckedInstructionDataDecoder,
  TOKEN_PROGRAM_ADDRESS,
  TRANSFER_CHECKED_DISCRIMINATOR,
} from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';

/** Memo v3, the version that is deployed on every cluster. */
export const MEMO_PROGRAM_ADDRESS = LEGACY_MEMO_PROGRAM_ADDRESS_V3;

/** An instruction to describe; its accounts are addresses, in order. */
export interface DescribedInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyUint8Array;
}

/**
 * An instruction that a vault may run, read from its own bytes. An address is undefined if the instruction has too few
 * accounts.
 */
export type VaultInstruction =
  | { readonly kind: 'memo'; readonly text: string }
  | { readonly kind: 'tokenAccountCreation'; readonly owner: Address | undefined }
  | { readonly kind: 'solTransfer'; readonly lamports: bigint; readonly recipient: Address | undefined }
  | TokenInstruction;

/** A burn or a transfer. Its accounts are those of `BurnChecked` and `TransferChecked`, in order. */
export interface TokenInstruction {
  readonly kind: 'burn' | 'tokenTransfer';
  readonly baseUnits: bigint;
  readonly decimals: number;
  readonly accounts: readonly Address[];
}

/** Reads an instruction that a vault may run; null if it is another one, or its data has another length. */
export function readVaultInstruction({
  programAddress,
  accounts,
  data,
}: DescribedInstruction): VaultInstruction | null {
  switch (programAddress) {
    case MEMO_PROGRAM_ADDRESS:
      return { kind: 'memo', text: new TextDecoder().decode(new Uint8Array(data)) };
    case ASSOCIATED_TOKEN_PROGRAM_ADDRESS: {
      const isCreation = data.length === 1 && data[0] === CREATE_ASSOCIATED_TOKEN_IDEMPOTENT_DISCRIMINATOR;
      return isCreation ? { kind: 'tokenAccountCreation', owner: accounts[2] } : null;
    }
    case SYSTEM_PROGRAM_ADDRESS: {
      if (data.length !== solTransferDecoder.fixedSize) return null;
      const { discriminator, amount } = solTransferDecoder.decode(data);
      if (discriminator !== TRANSFER_SOL_DISCRIMINATOR) return null;
      return { kind: 'solTransfer', lamports: amount, recipient: accounts[1] };
    }
    case TOKEN_PROGRAM_ADDRESS:
    // Token-2022 keeps the layouts of SPL Token.
    case TOKEN_2022_PROGRAM_ADDRESS: {
      const kind = TOKEN_INSTRUCTIONS.get(data[0]);
      if (kind === undefined || data.length !== tokenTransferDecoder.fixedSize) return null;
      const { amount, decimals } = tokenTransferDecoder.decode(data);
      return { kind, baseUnits: amount, decimals, accounts };
    }
    default:
      return null;
  }
}

const solTransferDecoder = /* @__PURE__ */ getTransferSolInstructionDataDecoder();
/** A burn and a transfer have the same data after the discriminator. */
const tokenTransferDecoder = /* @__PURE__ */ getTransferCheckedInstructionDataDecoder();
const TOKEN_INSTRUCTIONS: ReadonlyMap<number | undefined, TokenInstruction['kind']> = /* @__PURE__ */ new Map([
  [BURN_CHECKED_DISCRIMINATOR, 'burn'],
  [TRANSFER_CHECKED_DISCRIMINATOR, 'tokenTransfer'],
]);
