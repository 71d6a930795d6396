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
import { groupDigits, SOL_DECIMALS, toDecimal } from './amounts.ts';

/** Memo v3, the version that is deployed on every cluster. */
export const MEMO_PROGRAM_ADDRESS = LEGACY_MEMO_PROGRAM_ADDRESS_V3;

/** An instruction to describe; its accounts are addresses, in order. */
export interface DescribedInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly Address[];
  readonly data: ReadonlyUint8Array;
}

/** A sentence in two parts: `Token` `burns 1.5 tokens of 7Fq2…`. */
export interface InstructionDescription {
  /** Name of the program, or its address if we do not know it. */
  readonly program: string;
  readonly text: string;
}

/**
 * Describes in words what an instruction does, read from its own bytes.
 * @param showAddress how an address is written; in full by default.
 *
 * @example
 * const { program, text } = describeInstruction(instruction);
 * console.log(`${program} ${text}`);
 */
export function describeInstruction(
  { programAddress, accounts, data }: DescribedInstruction,
  showAddress: (address: string) => string = (address) => address,
): InstructionDescription {
  const program = PROGRAM_NAMES[programAddress] ?? showAddress(programAddress);
  const account = (index: number) => {
    const address = accounts[index];
    return address === undefined ? '(no account)' : showAddress(address);
  };
  const text = describe(programAddress, data, account);
  return { program, text: text ?? `is called with ${data.length} bytes and ${accounts.length} accounts` };
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  [SYSTEM_PROGRAM_ADDRESS]: 'System',
  [ASSOCIATED_TOKEN_PROGRAM_ADDRESS]: 'Associated Token',
  [TOKEN_PROGRAM_ADDRESS]: 'Token',
  [TOKEN_2022_PROGRAM_ADDRESS]: 'Token-2022',
  [MEMO_PROGRAM_ADDRESS]: 'Memo',
};

function describe(
  programAddress: Address,
  data: ReadonlyUint8Array,
  account: (index: number) => string,
): string | null {
  switch (programAddress) {
    case MEMO_PROGRAM_ADDRESS:
      return `writes “${new TextDecoder().decode(new Uint8Array(data))}”`;
    case ASSOCIATED_TOKEN_PROGRAM_ADDRESS: {
      const isCreation = data.length === 1 && data[0] === CREATE_ASSOCIATED_TOKEN_IDEMPOTENT_DISCRIMINATOR;
      return isCreation ? `creates the token account of ${account(2)} if it is missing` : null;
    }
    case SYSTEM_PROGRAM_ADDRESS: {
      const decoder = getTransferSolInstructionDataDecoder();
      if (data.length !== decoder.fixedSize) return null;
      const { discriminator, amount } = decoder.decode(data);
      if (discriminator !== TRANSFER_SOL_DISCRIMINATOR) return null;
      return `transfers ${groupDigits(toDecimal(amount, SOL_DECIMALS))} SOL to ${account(1)}`;
    }
    case TOKEN_PROGRAM_ADDRESS:
    // Token-2022 keeps the layouts of SPL Token.
    case TOKEN_2022_PROGRAM_ADDRESS: {
      // A burn and a transfer have the same data after the discriminator.
      const decoder = getTransferCheckedInstructionDataDecoder();
      if (data.length !== decoder.fixedSize) return null;
      const { discriminator, amount, decimals } = decoder.decode(data);
      const tokens = `${groupDigits(toDecimal(amount, decimals))} tokens`;
      if (discriminator === BURN_CHECKED_DISCRIMINATOR) return `burns ${tokens} of ${account(0)}`;
      if (discriminator !== TRANSFER_CHECKED_DISCRIMINATOR) return null;
      return `transfers ${tokens} to the token account ${account(2)}`;
    }
    default:
      return null;
  }
}
