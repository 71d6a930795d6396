import { addressEncoder } from '@flywheel/protocol';
import { type ProposalStatus, proposalAddress } from '@flywheel/squads';
import type { Address, Signature } from '@solana/kit';
import type { Batch, Bundle } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import type { SignatureOutcome } from '../../solana/chain.ts';
import { hasExpired } from '../../solana/send-and-confirm.ts';
import { type BatchHistory, createHistoryReader } from '../../squads/history.ts';
import { findBundles, findNewestLanding } from '../../store/batches/bundles.ts';
import type { Deps, RunDeps, WorkerDeps } from '../deps.ts';
import { cursorOf, isOfOtherKind, type RecordedTransaction, readBatchAccounts, readRecorded } from './progress.ts';

// docs/decisions/0058-what-is-final.md says what is decided at which commitment. All that is final is decided in this file.

/** The state of a batch that no fork can take away. */
export interface Finality {
  /**
   * Status of the proposal; `Absent` if it is not on chain, `Closed` if its accounts are gone, `Foreign` if its index was used
   * for something else; `Unseen` if the node does not show the multisig, which decides nothing.
   */
  readonly status: ProposalStatus['__kind'] | 'Absent' | 'Closed' | 'Foreign' | 'Unseen';
  /** Number of executed pipelines. */
  readonly executed: number;
}

const POLL_INTERVAL_MS = 400;

/**
 * Waits until everything of a batch that has landed so far is finalized, about 13 s on mainnet, and reads its state then.
 * A transaction behind a failed one of its bundle, which would execute the next pipeline, is waited for until it expires.
 * Nothing of the batch may be sent meanwhile, and its bundles must be settled.
 * @returns `incomplete` if the node does not show the multisig, or not the whole history of a closed batch.
 */
export async function awaitFinality(deps: RunDeps, multisig: Multisig, batch: Batch): Promise<Finality | 'incomplete'> {
  const { chain, clock, signal, turn } = deps;
  const seenSlot = await chain.slot();
  for (;;) {
    const isPast = (await chain.finalizedBlock()).slot >= seenSlot;
    const startsLeft = isPast ? await findStartsLeft(deps, batch) : null;
    if (startsLeft !== null) {
      // Read after the transactions were looked up: those that have landed are part of it.
      const final = await readFinality(deps, multisig, batch);
      if (final !== 'incomplete' && final.status === 'Unseen') {
        leaveNode(deps, batch);
        return 'incomplete';
      }
      if (final === 'incomplete' || final.status !== 'Approved' || !startsLeft.has(final.executed)) return final;
    }
    await turn.pause(() => clock.sleep(POLL_INTERVAL_MS, signal));
  }
}

/** A cluster whose pace is not known yet is looked at again after this time. */
const UNKNOWN_PACE_MS = 2_000;
/** Bounds of an estimate. A cluster that stands still is not asked all the time, nor is one that goes on forgotten. */
const [SOONEST_LOOK_MS, LATEST_LOOK_MS] = [1_000, 20_000];

/**
 * Estimates when the newest landing of a phase is finalized, about 13 s after it on mainnet. A job that looks before
 * costs as much as the one that finds it final.
 */
export async function untilFinalMs(
  { chain, db }: Pick<Deps, 'chain' | 'db'>,
  { id }: Batch,
  phase: 'execution' | 'close',
): Promise<number> {
  const slot = await findNewestLanding(db, id, phase);
  const estimateMs = slot === null ? null : chain.untilFinalMs(slot);
  if (estimateMs === null) return UNKNOWN_PACE_MS;
  return Math.ceil(Math.min(Math.max(estimateMs, SOONEST_LOOK_MS), LATEST_LOOK_MS));
}

/** Returns true if no fork can bring back the accounts of a batch that a confirmed read shows as closed. */
export async function isClosedForGood(
  deps: Pick<RunDeps, 'chain'>,
  multisig: Multisig,
  batch: Batch,
): Promise<boolean> {
  const { transactionIndex, accounts } = await readBatchAccounts(deps, multisig, batch, 'finalized');
  return transactionIndex >= batch.batchIndex && (accounts === null || isOfOtherKind(batch, accounts.batch));
}

/**
 * Reads the state of a batch at commitment `finalized`: the cursor on chain decides. Where the accounts are gone, the
 * recorded transactions are looked up, and if they do not account for every pipeline, the history of the proposal.
 */
export async function readFinality(
  deps: Pick<RunDeps, 'chain' | 'db' | 'log' | 'signal' | 'turn'>,
  multisig: Multisig,
  batch: Batch,
): Promise<Finality | 'incomplete'> {
  const { isSeen, transactionIndex, accounts } = await readBatchAccounts(deps, multisig, batch, 'finalized');
  if (!isSeen) return { status: 'Unseen', executed: 0 };
  if (accounts !== null) {
    return isOfOtherKind(batch, accounts.batch) ? { status: 'Foreign', executed: 0 } : cursorOf(batch, accounts);
  }
  if (transactionIndex < batch.batchIndex) return { status: 'Absent', executed: 0 };
  const recorded = await readRecorded(deps, batch, ({ confirmation }) => confirmation === 'finalized');
  if (recorded.executed === batch.pipelines.length) return { status: 'Closed', executed: recorded.executed };
  const history = await deps.turn.pause(() => readHistory(deps, multisig, batch, recorded.transactions));
  if (history === 'incomplete') {
    leaveNode(deps, batch);
    return history;
  }
  return history === 'foreign' ? { status: 'Foreign', executed: 0 } : { status: 'Closed', executed: history.executed };
}

/** Reads the past of a closed batch from the transactions that named its proposal, as many as strangers have made of them. */
async function readHistory(
  { chain, signal }: Pick<RunDeps, 'chain' | 'signal'>,
  multisig: Multisig,
  batch: Batch,
  recorded: readonly RecordedTransaction[],
): Promise<BatchHistory> {
  const address = proposalAddress(multisig.address, batch.batchIndex);
  const history = createHistoryReader(multisig, batch);
  const named = recorded.filter(({ wire }) => namesAddress(wire, address));
  const unlisted = new Set(named.map(({ signature }) => signature));
  for await (const transaction of chain.transactionsNaming(address, { commitment: 'finalized' })) {
    signal.throwIfAborted();
    if (transaction === 'incomplete') return transaction;
    unlisted.delete(transaction.signature);
    history.read(transaction.instructions);
  }
  // A node that forgets, or is behind, does not list what we know has landed.
  return unlisted.size > 0 ? 'incomplete' : history.result();
}

/** Makes the next job of a batch ask another node, because this one does not have the whole history of the batch. */
function leaveNode({ chain, log }: Pick<RunDeps, 'chain' | 'log'>, { id: batchId, batchIndex }: Batch): void {
  const { host } = chain;
  const nextHost = chain.leaveNode();
  const fields = { batchId, batchIndex: String(batchIndex), host };
  if (nextHost === null) {
    log.error(fields, 'no RPC node has the whole history of the batch; nothing is decided until one has');
  } else {
    log.warn({ ...fields, nextHost }, 'the RPC node does not have the whole history of the batch; asking another one');
  }
}

/** A tip may be a transaction of its own, which the history of a batch does not list. */
function namesAddress(wire: string, address: Address): boolean {
  return Buffer.from(wire, 'base64').includes(Buffer.from(addressEncoder.encode(address)));
}

/**
 * Returns true if each transaction that was sent for a batch that is not approved on chain is finalized, or can no longer
 * change anything.
 */
export async function isFinalForAll(deps: RunDeps, batch: Batch): Promise<boolean> {
  return (await findStartsLeft(deps, batch)) !== null;
}

/**
 * Finds the positions of the pipelines at which transactions begin that stand behind a failed one of their bundle and may still
 * land. Only the cursor holds them back: one lands if its position is the cursor of an approved batch.
 * @returns null if anything else that was sent for the batch may still change its outcome.
 */
async function findStartsLeft({ chain, db }: RunDeps, { id }: Batch): Promise<ReadonlySet<number> | null> {
  const finalized = await chain.finalizedBlock();
  const bundles = (await findBundles(db, id)).filter(({ phase }) => phase !== 'close');
  const { contextSlot, outcomeOf } = await readOutcomes(chain, bundles);
  const startsLeft = new Set<number>();
  for (const bundle of bundles) {
    if (hasExpired(finalized, contextSlot, bundle.lastValidBlockHeight)) continue;
    const outcomes = bundle.signatures.map(outcomeOf);
    if (!isFinalBundle(bundle, outcomes)) return null;
    for (const start of startsOfUnknown(bundle, outcomes)) startsLeft.add(start);
  }
  return startsLeft;
}

/**
 * Returns true if the outcome of a bundle can change no more, but for pipelines behind a failed transaction. A fork took
 * away a transaction that had landed and is unknown now; it may land again until it expires.
 */
function isFinalBundle(
  { state, phase, signatures, landedSignatures, landedSlot, pipelineCounts }: Bundle,
  outcomes: readonly SignatureOutcome[],
) {
  const isFinal = (outcome: SignatureOutcome) => outcome !== 'unknown' && outcome.confirmation === 'finalized';
  const unknown = signatures.filter((_, i) => outcomes[i] === 'unknown');
  if (!outcomes.every((outcome) => outcome === 'unknown' || isFinal(outcome))) return false;
  if (state === 'sent') return unknown.length === 0;
  const isTakenAway = landedSignatures.some((signature) => unknown.includes(signature));
  // An approval needs none of the transactions behind it.
  const mayApprove = phase === 'execution' && pipelineCounts[0] === 0 && outcomes[0] === 'unknown';
  return !isTakenAway && (landedSlot === null || (!mayApprove && unknown.length < signatures.length));
}

/** Lists where the unknown transactions of a bundle begin that has failed. */
function startsOfUnknown(
  { landedSlot, firstPipeline, pipelineCounts }: Bundle,
  outcomes: readonly SignatureOutcome[],
): number[] {
  // Nothing of a bundle lands that was lost.
  if (landedSlot === null) return [];
  let start = firstPipeline;
  return pipelineCounts.flatMap((count, i) => {
    const own = start;
    start += count;
    return outcomes[i] === 'unknown' ? [own] : [];
  });
}

/**
 * Reads what the bundles of a batch's execution have landed for good: what a fork took away is left out, and what landed
 * later is included. A node that keeps a short history has forgotten old signatures; they count as they are recorded if the
 * known ones do not account for all executed pipelines.
 */
export async function readFinalBundles(
  { chain, db }: Pick<WorkerDeps, 'chain' | 'db'>,
  { id }: Batch,
  executed: number,
): Promise<Bundle[]> {
  const bundles = await findBundles(db, id, 'execution');
  const { outcomeOf } = await readOutcomes(chain, bundles);
  const isKnown = (signature: Signature) => {
    const outcome = outcomeOf(signature);
    return outcome !== 'unknown' && outcome.err === null && outcome.confirmation === 'finalized';
  };
  const known = bundles.flatMap(({ signatures, pipelineCounts }) =>
    signatures.map((signature, i) => (isKnown(signature) ? (pipelineCounts[i] ?? 0) : 0)),
  );
  const isWhole = known.reduce((sum, count) => sum + count, 0) >= executed;
  return bundles.map((bundle) => ({
    ...bundle,
    landedSignatures: bundle.signatures.filter((signature) => {
      const isForgotten = !isWhole && outcomeOf(signature) === 'unknown';
      return isKnown(signature) || (isForgotten && bundle.landedSignatures.includes(signature));
    }),
  }));
}

/** Reads the outcomes of the transactions of many bundles together: one request of a node has 256 signatures. */
export async function readOutcomes(
  chain: Pick<RunDeps['chain'], 'signatureOutcomes'>,
  bundles: readonly Pick<Bundle, 'signatures'>[],
): Promise<{ readonly contextSlot: bigint; readonly outcomeOf: (signature: Signature) => SignatureOutcome }> {
  const sent = bundles.flatMap(({ signatures }) => signatures);
  const { contextSlot, outcomes } = await chain.signatureOutcomes(sent);
  const known = new Map(sent.map((signature, i) => [signature, outcomes[i] ?? 'unknown']));
  return { contextSlot, outcomeOf: (signature) => known.get(signature) ?? 'unknown' };
}
