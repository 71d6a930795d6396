import { randomInt } from 'node:crypto';
import { INCINERATOR_ADDRESS, MAX_BUNDLE_TRANSACTIONS } from '@flywheel/protocol';
import {
  appendIfFits,
  type PlannedTransaction,
  type TransactionLimits,
  type TransactionVersion,
  type UnsignedMessage,
} from '@flywheel/squads';
import {
  type Address,
  createTransactionMessage,
  type Instruction,
  isSignerRole,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayer,
  type TransactionPartialSigner,
} from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { getTransferSolInstructionDataDecoder } from '@solana-program/system';
import type { Bundle } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { tipOf } from '../../solana/block-engine.ts';
import type { SendingTerms } from '../../solana/sending-terms.ts';
import { MIN_COMPUTE_UNIT_PRICE } from '../../solana/sending-terms.ts';
import { type SignedTransaction, signTransaction } from '../../solana/transactions.ts';
import type { RunDeps } from '../deps.ts';

export interface AssembledBundle {
  readonly transactions: readonly SignedTransaction[];
  /** Highest version among the planned transactions. */
  readonly version: TransactionVersion;
  readonly lastValidBlockHeight: bigint;
  readonly tipLamports: bigint;
  /** The planned transactions that fitted in, from the first on. */
  readonly planned: readonly PlannedTransaction[];
}

/**
 * Waits for the turn of a bundle, and signs the first planned transactions as one bundle of at most `maxTransactions`, after
 * those that are `signed` already.
 * A tip goes into the last transaction, because an engine may drop a transaction that only tips. It gets a transaction of
 * its own only if the last one has no room.
 */
export async function assembleBundle(
  deps: RunDeps,
  planned: readonly PlannedTransaction[],
  {
    maxTransactions,
    signed = [],
    signers = [deps.operator],
    attempt = 0,
  }: {
    readonly maxTransactions: number;
    readonly signed?: readonly SignedTransaction[];
    readonly signers?: readonly TransactionPartialSigner[];
    /** Number of earlier bundles with the same content that did not land. The tip rises with it. */
    readonly attempt?: number;
  },
): Promise<AssembledBundle> {
  const { chain, bundles, operator, turn } = deps;
  const room = maxTransactions - signed.length;
  // Before the blockhash is read, because the wait may be longer than its life.
  await turn.awaitBundle(bundles);
  const [lifetime, tip] = await Promise.all([chain.latestBlockhash(), bundles.tip(operator.address, attempt)]);
  const { messages, count } = withTip(planned, tip, { room, operator: operator.address });
  const transactions = await Promise.all(
    messages.map((message) => signTransaction(message, lifetime, signersOf(message, signers))),
  );
  return {
    transactions: [...signed, ...transactions],
    version: messages.some(({ version }) => version === 1) ? 1 : 0,
    lastValidBlockHeight: lifetime.lastValidBlockHeight,
    tipLamports: tip?.data ? getTransferSolInstructionDataDecoder().decode(tip.data).amount : 0n,
    planned: planned.slice(0, count),
  };
}

interface LimitOptions {
  /**
   * True after a failure: one pipeline in each transaction, so that the ones before the failing one succeed, and the highest
   * compute limit, so that no estimate of ours can be the cause.
   */
  readonly isCareful?: boolean;
  /** Number of transactions that the first bundle has already. */
  readonly taken?: number;
}

/** Builds the limits of transactions that the operator pays for. The last one of a bundle has room for the tip. */
export function operatorLimits(
  { operator, lookupTable }: Multisig,
  phase: Bundle['phase'],
  terms: SendingTerms,
  { isCareful = false, taken = 0 }: LimitOptions = {},
): TransactionLimits {
  const { isTipped, ...prices } = terms;
  return {
    ...prices,
    // No transaction of ours names the incinerator, which stands for the tip account here.
    ...(isTipped && {
      bundles: { size: MAX_BUNDLE_TRANSACTIONS, taken, last: [tipOf(operator, INCINERATOR_ADDRESS, 0n)] },
    }),
    feePayer: operator,
    lookupTables: [lookupTable],
    ...(phase === 'execution' && { heapBytes: EXECUTION_HEAP_BYTES }),
    ...(isCareful && { computeUnitLimit: MAX_COMPUTE_UNIT_LIMIT }),
    ...(isCareful && phase === 'execution' && { maxGroups: 1 }),
  };
}

/** Limits of a transaction that is only simulated. */
export function simulationLimits(multisig: Multisig): TransactionLimits {
  const terms = { version: 0, computeUnitPriceMicroLamports: MIN_COMPUTE_UNIT_PRICE, isTipped: false } as const;
  return { ...operatorLimits(multisig, 'execution', terms), computeUnitLimit: MAX_COMPUTE_UNIT_LIMIT };
}

/** About 25 burns exhaust the default heap of 32 KiB. */
const EXECUTION_HEAP_BYTES = 256 * 1_024;

/** Selects the signers that a message needs: the fee payer, and the voter if it holds a vote. */
function signersOf(
  { instructions, feePayer }: UnsignedMessage,
  signers: readonly TransactionPartialSigner[],
): readonly TransactionPartialSigner[] {
  const signing = new Set(
    instructions.flatMap(({ accounts = [] }) =>
      accounts.filter(({ role }) => isSignerRole(role)).map(({ address }) => address),
    ),
  );
  return signers.filter(({ address }) => address === feePayer.address || signing.has(address));
}

/** Fits planned transactions and the tip into a bundle of at most `room` transactions. `count` of the planned ones fit. */
export function withTip(
  planned: readonly PlannedTransaction[],
  tip: Instruction | null,
  { room, operator }: { readonly room: number; readonly operator: Address },
): { readonly messages: readonly UnsignedMessage[]; readonly count: number } {
  const messages = planned.slice(0, room).map(({ message }) => message);
  if (tip === null) return { messages, count: messages.length };
  const last = messages.at(-1);
  const tipped = last && appendIfFits(last, [tip]);
  if (tipped) return { messages: [...messages.slice(0, -1), tipped], count: messages.length };
  const empty = setTransactionMessageFeePayer(operator, createTransactionMessage({ version: 0 }));
  const alone = appendIfFits(setTransactionMessageComputeUnitLimit(anyTipUnits(), empty), [tip]);
  if (!alone) throw new Error('The tip does not fit into a transaction of its own.');
  const kept = messages.slice(0, room - 1);
  return { messages: [...kept, alone], count: kept.length };
}

/**
 * Picks the compute limit of a tip in a transaction of its own. It differs from one tip to the next: two equal ones with one
 * blockhash would be one transaction, which the chain takes once, and the engine would drop the second bundle.
 */
function anyTipUnits(): number {
  return TIP_COMPUTE_UNITS + randomInt(TIP_VARIETY);
}

/** More than a transfer and a compute budget instruction use. */
const TIP_COMPUTE_UNITS = 1_000;
const TIP_VARIETY = 16_384;
