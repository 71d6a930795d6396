import { CREATION_TRACE_LENGTH } from '@flywheel/protocol';
import type { Instruction } from '@solana/kit';
import { ASSOCIATED_TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import type { Weight } from './packing.ts';

// Compute units were measured on the deployed program, which is immutable, with both token programs, and rounded up. Each
// bump that a program tries to find an address costs 1,500 units and fails half of the time: where a program searches, the
// weight has room for so many tries that one search in a million needs more. Trace lengths of Squads' own instructions assume
// that an account to be created holds lamports already, which takes the most instructions. Those of a vault message assume
// that a token account's address holds none: if it does, and the transaction is full, its pipelines are executed one by one.

/** Creates the batch and its proposal as a draft. */
export const CREATE_WEIGHT: Weight = { computeUnits: 60_000, traceLength: 8 };
/** Activates a proposal that is a draft. */
export const ACTIVATE_WEIGHT: Weight = { computeUnits: 12_000, traceLength: 1 };
/** Approves, rejects or cancels a proposal. */
export const VOTE_WEIGHT: Weight = { computeUnits: 20_000, traceLength: 1 };
/** Closes the batch and its proposal. */
export const CLOSE_BATCH_WEIGHT: Weight = { computeUnits: 45_000, traceLength: 1 };

/** Creates a config transaction and its proposal, and activates it: at most 23,400, 19,500 and 8,900 units were measured. */
export const SETUP_CONFIG_WEIGHT: Weight = { computeUnits: 90_000, traceLength: 9 };
/**
 * Executes a config transaction that replaces a member: at most 17,300 units were measured. The multisig does not grow, since one
 * member comes and one goes.
 */
export const EXECUTE_CONFIG_WEIGHT: Weight = { computeUnits: 35_000, traceLength: 1 };
/** Closes a config transaction and its proposal: at most 17,700 units were measured. */
export const CLOSE_CONFIG_WEIGHT: Weight = { computeUnits: 45_000, traceLength: 1 };

/** Weighs adding a vault message of these instructions to a batch. */
export function addWeight(vaultInstructions: readonly Instruction[]): Weight {
  const { instructions, accounts } = countsOf(vaultInstructions);
  return { computeUnits: 45_000 + 1_500 * instructions + 600 * accounts, traceLength: 4 };
}

/** Weighs closing the account of a vault message; without its instructions, as the largest message. */
export function closeWeight(vaultInstructions: readonly Instruction[] | undefined): Weight {
  const { instructions, accounts } = vaultInstructions ? countsOf(vaultInstructions) : LARGEST;
  return { computeUnits: 13_500 + 500 * instructions + 300 * accounts, traceLength: 1 };
}

/**
 * Weighs executing a vault message.
 * @param innerUnits compute units that its instructions use when they run by themselves.
 */
export function executeWeight(vaultInstructions: readonly Instruction[], innerUnits: number): Weight {
  const { instructions, accounts, creations } = countsOf(vaultInstructions);
  return {
    computeUnits: 20_000 + 4_500 * instructions + 800 * accounts + Math.ceil(innerUnits * INNER_MARGIN),
    traceLength: 1 + instructions + CREATION_TRACE_LENGTH * creations,
  };
}

/** Adds up weights. */
export function sumOfWeights(weights: readonly Weight[]): Weight {
  return {
    computeUnits: weights.reduce((sum, { computeUnits }) => sum + computeUnits, 0),
    traceLength: weights.reduce((sum, { traceLength }) => sum + traceLength, 0),
  };
}

/** A token account may exist when its creation is simulated, and not when it is executed. */
const INNER_MARGIN = 1.1;

/** These counts exceed what a vault message of `MAX_PIPELINE_BYTES` holds. */
const LARGEST = { instructions: 64, accounts: 64 };

function countsOf(instructions: readonly Instruction[]): {
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
