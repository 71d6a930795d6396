import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { writeSol, writeTokens } from './amounts.ts';
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
 *
 * @example
 * const { program, text } = describeInstruction(instruction);
 * console.log(`${program} ${text}`);
 */
export function describeInstruction(instruction: DescribedInstruction): InstructionDescription {
  const { programAddress, accounts, data } = instruction;
  const program = PROGRAM_NAMES[programAddress] ?? programAddress;
  const known = readVaultInstruction(instruction);
  if (known === null) {
    return { program, text: `is called with ${data.length} bytes and ${accounts.length} accounts` };
  }
  return { program, text: describe(known) };
}

const PROGRAM_NAMES: Readonly<Record<string, string>> = {
  [SYSTEM_PROGRAM_ADDRESS]: 'System',
  [ASSOCIATED_TOKEN_PROGRAM_ADDRESS]: 'Associated Token',
  [TOKEN_PROGRAM_ADDRESS]: 'Token',
  [TOKEN_2022_PROGRAM_ADDRESS]: 'Token-2022',
  [MEMO_PROGRAM_ADDRESS]: 'Memo',
};

const NO_ACCOUNT = '(no account)';

function describe(instruction: VaultInstruction): string {
  switch (instruction.kind) {
    case 'memo':
      return `writes “${instruction.text}”`;
    case 'tokenAccountCreation':
      return `creates the token account of ${instruction.owner ?? NO_ACCOUNT} if it is missing`;
    case 'solTransfer':
      return `transfers ${writeSol(instruction.lamports)} to ${instruction.recipient ?? NO_ACCOUNT}`;
    case 'burn':
    case 'tokenTransfer': {
      const { kind, baseUnits, accounts } = instruction;
      const tokens = writeTokens(baseUnits, instruction);
      return kind === 'burn'
        ? `burns ${tokens} of ${accounts[0] ?? NO_ACCOUNT}`
        : `transfers ${tokens} to the token account ${accounts[2] ?? NO_ACCOUNT}`;
    }
    default:
      return instruction satisfies never;
  }
}
