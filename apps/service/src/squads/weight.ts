import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import type { CompiledPipeline } from '../model/batch.ts';
import type { InstructionGroup } from './plan.ts';

/** What instructions take of a transaction besides its bytes. */
export type Weight = Omit<InstructionGroup, 'instructions'>;

// Compute units as measured on the deployed program, which is immutable, over both token programs, and rounded up. A
// search for an address takes 1,500 units a miss, and half of the searches miss: where a program searches, there is room
// for so many misses that one in a million needs more. Traces count an account's creation with all that it takes when
// somebody has sent lamports to its address before.

/** The creation of the batch and of its draft. */
export const CREATE_WEIGHT: Weight = { computeUnits: 60_000, traceLength: 8 };
export const ACTIVATE_WEIGHT: Weight = { computeUnits: 12_000, traceLength: 1 };
/** A vote for, against, or to cancel. */
export const VOTE_WEIGHT: Weight = { computeUnits: 20_000, traceLength: 1 };
/** Closing the batch and its proposal. */
export const CLOSE_BATCH_WEIGHT: Weight = { computeUnits: 45_000, traceLength: 1 };

/** Adding a pipeline’s vault message to a batch. */
export function addWeight(pipeline: Content): Weight {
  const { instructions, accounts } = countsOf(pipeline);
  return { computeUnits: 45_000 + 1_500 * instructions + 600 * accounts, traceLength: 4 };
}

/** Closing the account of a pipeline’s vault message; one that is not known is taken for the largest. */
export function closeWeight(pipeline: Content | undefined): Weight {
  const { instructions, accounts } = pipeline ? countsOf(pipeline) : LARGEST;
  return { computeUnits: 13_500 + 500 * instructions + 300 * accounts, traceLength: 1 };
}

/** Executing a pipeline whose instructions, run by themselves, use so many units. */
export function executeWeight(pipeline: Content, innerUnits: number): Weight {
  const { instructions, accounts, creations } = countsOf(pipeline);
  return {
    computeUnits: 20_000 + 4_500 * instructions + 800 * accounts + Math.ceil(innerUnits * INNER_MARGIN),
    traceLength: 1 + instructions + CREATION_TRACE_LENGTH * creations,
  };
}

export function sumOfWeights(weights: readonly Weight[]): Weight {
  return {
    computeUnits: weights.reduce((sum, { computeUnits }) => sum + computeUnits, 0),
    traceLength: weights.reduce((sum, { traceLength }) => sum + traceLength, 0),
  };
}

type Content = Pick<CompiledPipeline, 'instructions'>;

/** A token account that exists when its creation is simulated may be gone when it is executed. */
const INNER_MARGIN = 1.1;
/** The mint's size, the account, its owner, its content (SPL associated token account). More only after a gift of lamports. */
const CREATION_TRACE_LENGTH = 4;

/** More than `compile/size.ts` lets a pipeline have. */
const LARGEST = { instructions: 64, accounts: 64 };

function countsOf({ instructions }: Content): {
  readonly instructions: number;
  readonly accounts: number;
  readonly creations: number;
} {
  const accounts = instructions.flatMap(({ programAddress, accounts: named = [] }) => [
    programAddress,
    ...named.map(({ address }) => address),
  ]);
  return {
    instructions: instructions.length,
    accounts: new Set(accounts).size,
    creations: instructions.filter(({ programAddress }) => programAddress === ASSOCIATED_TOKEN_PROGRAM_ADDRESS).length,
  };
}
