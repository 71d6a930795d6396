import { address } from '@flywheel/protocol';
import { chooseNode, type RpcUrl, sleep, urlsOf } from '@flywheel/solana-rpc';
import {
  BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR,
  BATCH_CREATE_DISCRIMINATOR,
  BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR,
  decodeBatch,
  decodeMultisig,
  decodeProposal,
  hasDiscriminator,
  proposalAddress,
  SQUADS_PROGRAM_ADDRESS,
  transactionAddress,
} from '@flywheel/squads';
import type { Address, Instruction, ReadonlyUint8Array } from '@solana/kit';
import { type ChainAccount, type Commitment, readAccounts } from '../chain/rpc.ts';
import { FlywheelError } from '../errors.ts';
import { positionOf } from './multisig-history.ts';
import { type AuditNode, type Entry, openAuditNode } from './node.ts';

/** The proposal of a batch. */
export interface BatchProposal {
  readonly multisig: string;
  readonly batchIndex: string;
}

/** The claims of the service about a batch that has failed. */
export interface ClaimedEnd {
  readonly batchId: string;
  /** Number of pipelines that were executed. */
  readonly executed: number;
  /** True if the wallet has signed its approval: a node that does not show the proposal is then behind. */
  readonly isSigned: boolean;
}

/**
 * Requires that the chain has executed as many pipelines of a failed batch as the service says, and can execute no more of
 * them: only then may they be paid in another batch. It waits for the votes that end the proposal, at most a minute.
 * @param rpcUrl a Solana node, or several of one cluster: the first healthy one is used.
 * @throws FlywheelError `ERR_CHAIN_MISMATCH` if the numbers differ, `ERR_BATCH_STILL_EXECUTABLE` after a minute, and
 * `ERR_UNEXPECTED_REPLY` if the accounts are closed and no node has their history.
 */
export async function requireEnd(
  rpcUrl: RpcUrl,
  proposal: BatchProposal,
  { batchId, executed, isSigned }: ClaimedEnd,
  signal?: AbortSignal,
): Promise<void> {
  const subject = `Batch ${batchId}, index ${proposal.batchIndex} of the multisig ${proposal.multisig},`;
  const deadlineMs = performance.now() + TIMEOUT_MS;
  for (;;) {
    const found = await readEnd(rpcUrl, proposal, signal);
    const isOver = found.state === 'over' || (found.state === 'unsigned' && !isSigned);
    if (found.executed > executed || (isOver && found.executed !== executed)) {
      const message = `${subject} has executed ${found.executed} pipelines on chain; the service says ${executed}. The others are not sent again.`;
      throw new FlywheelError({ code: 'ERR_CHAIN_MISMATCH', message, batchId });
    }
    if (isOver) return;
    if (performance.now() > deadlineMs) {
      const message = `${subject} has failed, but Squads could still execute the rest: its proposal is not rejected, cancelled or closed. An approved one needs the wallet’s cancel vote, for which the wallet pays 5,000 lamports.`;
      throw new FlywheelError({ code: 'ERR_BATCH_STILL_EXECUTABLE', message, batchId });
    }
    await sleep(POLL_INTERVAL_MS, signal);
  }
}

/** The company's vote and the closing of the accounts follow the end within seconds. */
const TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 1_000;

/** How far a batch was executed. */
export interface EndOnChain {
  readonly executed: number;
  /** `unsigned`: nothing of it could be approved yet. `open`: Squads may execute more of it. `over`: it never will. */
  readonly state: 'unsigned' | 'open' | 'over';
}

/**
 * Reads from the chain how far a batch was executed, and whether more of it can be: `over` is read from what is finalized.
 * @throws FlywheelError `ERR_UNEXPECTED_REPLY` if the accounts are closed and no node has their history.
 */
export async function readEnd(
  rpcUrl: RpcUrl,
  { multisig, batchIndex }: BatchProposal,
  signal?: AbortSignal,
): Promise<EndOnChain> {
  const node = await chooseNode(rpcUrl, signal);
  const [owner, index] = [address(multisig), BigInt(batchIndex)];
  const read = (commitment: Commitment) =>
    readAccounts(node, [owner, proposalAddress(owner, index), transactionAddress(owner, index)], {
      commitment,
      signal,
    });
  // A finalized answer alone would not show a proposal that the wallet has just signed.
  const newest = stateOf(await read('confirmed'), index);
  if (newest.state !== 'over') return newest;
  const final = await read('finalized');
  const { state, executed } = stateOf(final, index);
  if (state !== 'over') return { state: 'open', executed };
  if (final[2]) return { state, executed };
  const nodes: RpcUrl = [node, ...urlsOf(rpcUrl).filter((url) => url !== node)];
  const history = await openAuditNode(nodes, { commitment: 'finalized', requestsPerSecond: null, signal });
  return { state, executed: await readExecuted(history, owner, index) };
}

function stateOf([multisig, proposal, batch]: readonly (ChainAccount | null)[], index: bigint): EndOnChain {
  if (!multisig) return { state: 'unsigned', executed: 0 };
  if (!batch) {
    // Squads numbers without a gap, so that an index which the multisig has passed was created and then closed.
    const isPassed = decodeMultisig(multisig).transactionIndex >= index;
    return { state: isPassed ? 'over' : 'unsigned', executed: 0 };
  }
  const executed = decodeBatch(batch).executedTransactionIndex;
  if (!proposal) return { state: 'unsigned', executed };
  const { __kind: kind } = decodeProposal(proposal).status;
  switch (kind) {
    case 'Draft':
      return { state: 'unsigned', executed };
    case 'Active':
    case 'Approved':
    case 'Executing':
      return { state: 'open', executed };
    case 'Rejected':
    case 'Cancelled':
    case 'Executed':
      return { state: 'over', executed };
    default:
      return kind satisfies never;
  }
}

const PAGE_SIZE = 100;

/**
 * Reads how many pipelines of a closed batch were executed, from its newest transaction to its oldest. Squads executes them
 * in order, so that the first execution that is found is the last one.
 */
async function readExecuted(node: AuditNode, multisig: Address, index: bigint): Promise<number> {
  const batch = transactionAddress(multisig, index);
  let isClosed = false;
  for (let before: Entry | null = null; ; ) {
    const page = await node.listOlder(batch, { before, limit: PAGE_SIZE, minContextSlot: 0 });
    if (!page?.length) throw historyMissing(multisig, index);
    for (const entry of page) {
      before = entry;
      if (entry.hasFailed) continue;
      const transaction = await node.readTransaction(entry);
      if (!transaction?.hasInner) throw historyMissing(multisig, index);
      const calls = transaction.calls
        .flatMap(({ instruction, inner }) => [instruction, ...inner])
        .filter(({ programAddress }) => programAddress === SQUADS_PROGRAM_ADDRESS);
      const isOf = (call: Instruction, position: number) => call.accounts?.[position]?.address === batch;
      isClosed ||= calls.some((call) => is(call, BATCH_ACCOUNTS_CLOSE_DISCRIMINATOR) && isOf(call, 2));
      const executions = calls.filter((call) => is(call, BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR) && isOf(call, 3));
      const isCreation = calls.some((call) => is(call, BATCH_CREATE_DISCRIMINATOR) && isOf(call, 1));
      if (executions.length === 0 && !isCreation) continue;
      // A list that lacks the newest transactions could lack executions too.
      if (!isClosed) throw historyMissing(multisig, index);
      const last = executions.at(-1)?.accounts?.[4]?.address;
      if (last === undefined) return 0;
      const position = positionOf(last, { multisig, index });
      if (position === null) throw historyMissing(multisig, index);
      return position + 1;
    }
  }
}

function is({ data = new Uint8Array() }: Instruction, discriminator: ReadonlyUint8Array): boolean {
  return hasDiscriminator(data, discriminator);
}

function historyMissing(multisig: Address, index: bigint): FlywheelError {
  const message = `The accounts of the batch with index ${index} of the multisig ${multisig} are closed, and no node shows how it ended. Name a node that keeps the history of transactions.`;
  return new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message });
}
