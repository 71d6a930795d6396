import type { Action, Pipeline } from '@flywheel/api';
import { ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.ts';

/** What a pipeline may take of its transaction, bytes of the compiled vault message. The same on every cluster. */
export const MAX_PIPELINE_BYTES = 856;
/** Instructions that one transaction may run, inner ones included (Agave, `max_instruction_trace_length`). */
export const MAX_PIPELINE_INSTRUCTIONS = 64;

export interface PipelineSize {
  /** Of its transaction, to the byte. */
  readonly bytes: number;
  /** What it may run, every airdrop counted as if it had to create the token account the longest way. */
  readonly instructions: number;
  /** The fuller of the two: up to 1 the service takes it. */
  readonly share: number;
}

export interface SizeToken {
  readonly mint?: string;
  readonly tokenProgram?: string;
}

/**
 * What the service will count for a pipeline, found without asking it. The payload takes nothing: its hash has one length.
 * @param token only matters to who airdrops to the address of his mint or of its program.
 *
 * @example
 * pipelineSize(pipeline('WATCH_AD', { adId: '1' }, burn(1))).bytes; // 193
 */
export function pipelineSize(
  { type, actions }: Pick<Pipeline, 'type' | 'actions'>,
  token: SizeToken = {},
): PipelineSize {
  const listed = new Set<string | undefined>([...LISTED_PROGRAMS, token.tokenProgram ?? TOKEN_PROGRAM, token.mint]);
  const recipients = new Set(actions.flatMap((action) => (action.action === 'AIRDROP' ? [action.toAddress] : [])));
  // The wallet, unless the lookup table lists it, and its token account.
  const ownAccounts = [...recipients].filter((wallet) => !listed.has(wallet)).length + recipients.size;
  const proofMemoBytes = utf8Length(PROOF_MEMO_PREFIX) + utf8Length(type) + 1 + HASH_DIGITS;
  const bytes =
    FIXED_BYTES +
    ADDRESS_BYTES * ownAccounts +
    tablePlaces(actions) +
    MEMO_BYTES +
    proofMemoBytes +
    sum(actions.map(bytesOf));
  const instructions =
    INSTRUCTIONS_BEFORE_ACTIONS +
    sum(actions.map(({ action }) => (action === 'AIRDROP' ? INSTRUCTIONS_PER_AIRDROP : 1))) +
    INSTRUCTIONS_PER_CREATION * recipients.size;
  return {
    bytes,
    instructions,
    share: Math.max(bytes / MAX_PIPELINE_BYTES, instructions / MAX_PIPELINE_INSTRUCTIONS),
  };
}

/** The bytes alone of `pipelineSize`: at most `MAX_PIPELINE_BYTES` fit. */
export function estimateBytes(pipeline: Pick<Pipeline, 'type' | 'actions'>, token?: SizeToken): number {
  return pipelineSize(pipeline, token).bytes;
}

const ADDRESS_BYTES = 32;
/** Of the project’s lookup table, beside its token’s. */
const LISTED_PROGRAMS: readonly string[] = [ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM, SYSTEM_PROGRAM];
/** Three counts of roles and three of lists; the vault; the lookup table with the counts of its places. */
const FIXED_BYTES = 6 + ADDRESS_BYTES + (ADDRESS_BYTES + 2);
const PROOF_MEMO_PREFIX = 'flywheel:v1:';
const HASH_DIGITS = 64;

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

/** What a message names of the project’s lookup table: a byte each. */
function tablePlaces(actions: readonly Action[]): number {
  const kinds = new Set(actions.map(({ action }) => action));
  // The memo program; the token program, the mint and the vault’s token account; the programs that create accounts.
  return 1 + (kinds.has('BURN') || kinds.has('AIRDROP') ? 3 : 0) + (kinds.has('AIRDROP') ? 2 : 0);
}

/** A compute limit, a compute price, a heap frame and a tip beside the execution; the proof memo inside it. */
const INSTRUCTIONS_BEFORE_ACTIONS = 6;
const INSTRUCTIONS_PER_AIRDROP = 2;
/** What creating an associated token account runs inside, the longest way. */
const INSTRUCTIONS_PER_CREATION = 6;

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
