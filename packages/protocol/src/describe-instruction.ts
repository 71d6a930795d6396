import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { groupDigits, SOL_DECIMALS, toDecimal, writeTokens } from './amounts.ts';
import {
  type DescribedInstruction,
  MEMO_PROGRAM_ADDRESS,
  readVaultInstruction,
  type VaultInstruction,
} from './vault-instruction.ts';

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
  instruction: DescribedInstruction,
  showAddress: (address: string) => string = (address) => address,
): InstructionDescription {
  const { programAddress, accounts, data } = instruction;
  const program = PROGRAM_NAMES[programAddress] ?? showAddress(programAddress);
  const known = readVaultInstruction(instruction);
  if (known === null) {
    return { program, text: `is called with ${data.length} bytes and ${accounts.length} accounts` };
  }
  const show = (address: string | undefined) => (address === undefined ? '(no account)' : showAddress(address));
  return { program, text: describe(known, show) };
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  [SYSTEM_PROGRAM_ADDRESS]: 'System',
  [ASSOCIATED_TOKEN_PROGRAM_ADDRESS]: 'Associated Token',
  [TOKEN_PROGRAM_ADDRESS]: 'Token',
  [TOKEN_2022_PROGRAM_ADDRESS]: 'Token-2022',
  [MEMO_PROGRAM_ADDRESS]: 'Memo',
};

function describe(instruction: VaultInstruction, show: (address: string | undefined) => string): string {
  switch (instruction.kind) {
    case 'memo':
      return `writes “${instruction.text}”`;
    case 'tokenAccountCreation':
      return `creates the token account of ${show(instruction.owner)} if it is missing`;
    case 'solTransfer': {
      const sol = groupDigits(toDecimal(instruction.lamports, SOL_DECIMALS));
      return `transfers ${sol} SOL to ${show(instruction.recipient)}`;
    }
    case 'burn':
    case 'tokenTransfer': {
      const { kind, baseUnits, accounts } = instruction;
      const tokens = writeTokens(baseUnits, instruction);
      return kind === 'burn'
        ? `burns ${tokens} of ${show(accounts[0])}`
        : `transfers ${tokens} to the token account ${show(accounts[2])}`;
    }
    default:
      return instruction satisfies never;
  }
}
