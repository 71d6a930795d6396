import type { Action, Pipeline } from '@flywheel/api';
import {
  ADDRESS_BYTES,
  countPipelineInstructions,
  MAX_PIPELINE_BYTES,
  MAX_PIPELINE_INSTRUCTIONS,
  proofMemoBytes,
} from '@flywheel/protocol';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TABLE_PROGRAMS } from './verification/registration-terms.ts';

/** Size of a pipeline, beside the limits of a transaction. */
export interface PipelineSize {
  /** Exact size of the vault message; at most `MAX_PIPELINE_BYTES`. */
  readonly bytes: number;
  /** Instructions that it may run; at most `MAX_PIPELINE_INSTRUCTIONS`. Every token account counts as missing. */
  readonly instructions: number;
  /** The larger share of the two limits. The service accepts the pipeline up to 1. */
  readonly share: number;
}

/** The token; only needed if an airdrop goes to the address of its mint or of its program. */
export interface SizeToken {
  readonly mint?: string;
  readonly tokenProgram?: string;
}

/**
 * Measures a pipeline as the service does, without a request. The payload does not count, because its hash has a fixed
 * length.
 *
 * @example
 * pipelineSize(pipeline('WATCH_AD', { adId: '1' }, burn(1))).bytes; // 193
 */
export function pipelineSize(
  { type, actions }: Pick<Pipeline, 'type' | 'actions'>,
  token: SizeToken = {},
): PipelineSize {
  const listed = new Set<string | undefined>([
    ...TABLE_PROGRAMS,
    token.tokenProgram ?? TOKEN_PROGRAM_ADDRESS,
    token.mint,
  ]);
  const recipients = new Set(actions.flatMap((action) => (action.action === 'AIRDROP' ? [action.toAddress] : [])));
  // The wallet, unless the lookup table lists it, and its token account.
  const ownAccounts = [...recipients].filter((wallet) => !listed.has(wallet)).length + recipients.size;
  const bytes =
    FIXED_BYTES +
    ADDRESS_BYTES * ownAccounts +
    tableIndices(actions) +
    MEMO_BYTES +
    proofMemoBytes(type) +
    sum(actions.map(bytesOf));
  const instructions = countPipelineInstructions(actions);
  return {
    bytes,
    instructions,
    share: Math.max(bytes / MAX_PIPELINE_BYTES, instructions / MAX_PIPELINE_INSTRUCTIONS),
  };
}

/** Three counts of roles and three of lists; the vault; the lookup table with the counts of its indices. */
const FIXED_BYTES = 6 + ADDRESS_BYTES + (ADDRESS_BYTES + 2);

/** Program, count of accounts, count of data bytes (two). */
const INSTRUCTION_BYTES = 4;
/** Its one account, the vault. */
const MEMO_BYTES = INSTRUCTION_BYTES + 1;
/** Kind, amount, decimals (spl-token, `BurnChecked`, `TransferChecked`). */
const CHECKED_BYTES = 10;
const BURN_BYTES = INSTRUCTION_BYTES + 3 + CHECKED_BYTES;
/** The creation, idempotent, of the token account, and the transfer. */
const AIRDROP_BYTES = INSTRUCTION_BYTES + 6 + 1 + (INSTRUCTION_BYTES + 4 + CHECKED_BYTES);

function bytesOf(action: Action): number {
  switch (action.action) {
    case 'BURN':
      return BURN_BYTES;
    case 'AIRDROP':
      return AIRDROP_BYTES;
    case 'MEMO':
      return MEMO_BYTES + utf8Length(action.message);
    default:
      return action satisfies never;
  }
}

/** Entries of the project's lookup table that a message uses: one byte each. */
function tableIndices(actions: readonly Action[]): number {
  const kinds = new Set(actions.map(({ action }) => action));
  // The memo program; the token program, the mint and the vault’s token account; the programs that create accounts.
  return 1 + (kinds.has('BURN') || kinds.has('AIRDROP') ? 3 : 0) + (kinds.has('AIRDROP') ? 2 : 0);
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
