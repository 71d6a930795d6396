import { chunksOf, MAX_MULTIPLE_ACCOUNTS } from '@flywheel/protocol';
import { createNodes, isNodeFailure, type NodesOptions, sleep } from '@flywheel/solana-rpc';
import {
  type Address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  type Commitment,
  createSolanaRpcFromTransport,
  type RpcTransport,
  type Signature,
} from '@solana/kit';
import {
  AccountsAnswer,
  BlockhashAnswer,
  type ChainAccount,
  EpochInfoAnswer,
  type LandedSignature,
  PrioritizationFeesAnswer,
  paired,
  type Simulation,
  SimulationAnswer,
} from './answers.ts';
import { createFinalityPace, type FinalityPace } from './finality-pace.ts';
import { createFloor, type DecisiveCommitment, type Floor, NO_FLOOR } from './floor.ts';
import { createPastReads, type NamingTransaction, type PastReads, readNaming } from './past-transactions.ts';
import { postByHttp } from './post-by-http.ts';
import { ask, type ChainRpc, nodeErrorOf, shapes } from './rpc.ts';
import { createStatusReader, type StatusReader } from './status-reader.ts';
import { signatureOf } from './transactions.ts';

/**
 * A cluster, over JSON-RPC. Every request times out and is tried again a few times (`@flywheel/solana-rpc`); every error
 * names its method, and an answer of another shape than documented is an error. Each read goes to the first node that can
 * answer it; reads that belong to one decision need a `view`.
 */
export interface Chain extends PastReads {
  /**
   * Creates a view for one decision or one job: one node answers all of its reads, and never with an older state than the
   * view has seen before. A read waits a few seconds for a node that is behind.
   * @param seenSlot a slot that is known to be confirmed; 0 by default.
   * @param subject what is decided: nodes that were left for it are not chosen again before all others.
   */
  view(seenSlot?: bigint, subject?: string): ChainView;
  /**
   * Makes one decision on one view. If its node cannot answer, the whole decision is made again on the next node, each node
   * once: for requests, which no queue repeats.
   * @param seenSlot as of `view`.
   */
  decide<T>(seenSlot: bigint, read: (view: ChainView) => Promise<T>): Promise<T>;
  /**
   * Reads accounts in the given order; null for one that does not exist. `confirmed` by default.
   * @param options `maxBytes`: how much of each account’s data is read; all by default. An account can have 10 MiB, so it
   * bounds what strangers have a request read by the addresses that they choose.
   */
  accounts(
    addresses: readonly Address[],
    options?: { readonly commitment?: Commitment; readonly maxBytes?: number },
  ): Promise<readonly (ChainAccount | null)[]>;
  /** Read at commitment `confirmed`. */
  latestBlockhash(): Promise<{ readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint }>;
  /** Read at commitment `confirmed`. */
  blockHeight(): Promise<bigint>;
  /** Read at commitment `confirmed`. */
  slot(): Promise<bigint>;
  /** Reads the newest finalized block. */
  finalizedBlock(): Promise<{ readonly slot: bigint; readonly blockHeight: bigint }>;
  /**
   * Estimates the milliseconds until a slot is finalized, without a request: from the finalized slots that all views have read
   * before. 0 if it is finalized, infinite while the cluster finalizes nothing; null while they have read too few.
   */
  untilFinalMs(slot: bigint): number | null;
  /** Reads outcomes in the order asked for. The node searches its whole history. */
  signatureOutcomes(signatures: readonly Signature[]): Promise<SignatureOutcomes>;
  /**
   * Reads the transactions that named an address and succeeded, newest first, with the instructions that they called. There
   * may be millions, because anyone can name an address: do not keep them. Yields `incomplete` and ends if the node keeps no
   * history, or lists a transaction that it does not have. A node with a short history omits older transactions without a
   * word.
   */
  transactionsNaming(
    address: Address,
    options: { readonly commitment: DecisiveCommitment },
  ): AsyncIterable<NamingTransaction | 'incomplete'>;
  /** Simulates at commitment `confirmed`. A transaction that would fail is an answer, not an error. */
  simulate(transaction: Base64EncodedWireTransaction, options: SimulateOptions): Promise<Simulation>;
  /**
   * Sends a transaction to the node, which forwards it until it lands or expires. Acceptance does not mean that it
   * lands; one that is already on chain counts as accepted.
   */
  send(transaction: Base64EncodedWireTransaction): Promise<Signature>;
  /**
   * Reads for each recent block, 150 at most, the lowest price (micro-lamports per compute unit) of a transaction that
   * writes these accounts, of which there may be 128.
   */
  recentPrioritizationFees(accounts: readonly Address[]): Promise<readonly bigint[]>;
  /**
   * Reads the rent-exempt minimum in lamports. It is cached per size, because it changes only with the cluster’s
   * release.
   */
  minimumBalanceForRentExemption(bytes: number): Promise<bigint>;
  /** Reads the hash that identifies the cluster. */
  genesisHash(): Promise<Blockhash>;
}

/** A cluster as one node shows it. */
export interface ChainView extends Chain {
  /** Host and port of the node. */
  readonly host: string;
  /**
   * Makes the next view of the same subject choose another node, because the answers of this one were not enough.
   * @returns the host of that node; null if every node has been left for the subject.
   */
  leaveNode(): string | null;
}

export type { ChainAccount, LandedSignature, Simulation };

export interface SignatureOutcomes {
  /** The node's newest slot when it answered. What landed at or before it is not `unknown`. */
  readonly contextSlot: bigint;
  readonly outcomes: readonly SignatureOutcome[];
}

export type SignatureOutcome = 'unknown' | LandedSignature;

/** A node does not verify signatures over a blockhash that it replaces. */
export type SimulateOptions =
  | { readonly sigVerify: boolean; readonly replaceRecentBlockhash: false }
  | { readonly sigVerify: false; readonly replaceRecentBlockhash: true };

export interface ChainOptions extends Pick<NodesOptions, 'clock' | 'log' | 'timeoutMs'> {
  /** One URL per node of the cluster, the preferred one first. */
  readonly rpcUrls: readonly string[];
}

export function createChain({ rpcUrls, ...options }: ChainOptions): Chain {
  const nodes = createNodes({ ...options, urls: rpcUrls, post: postByHttp });
  const senders = nodes.each.map((transport) => createSolanaRpcFromTransport(transport));
  const known: Known = { rentLamports: new Map(), pace: createFinalityPace() };
  /** One for each node: all views of a node ask together, and kit takes a moment to make one. */
  const clients = new Map<RpcTransport, { readonly rpc: ChainRpc; readonly readStatuses: StatusReader }>();
  const { clock = { sleep } } = options;
  const facts = {
    ...createPastReads(() => nodes.inOrder().map((transport) => createSolanaRpcFromTransport(transport))),
    send: (transaction: Base64EncodedWireTransaction) => sendToAll(senders, transaction),
  };
  const view: Chain['view'] = (seenSlot = 0n, subject = '') => {
    const { transport, host, leave } = nodes.pin(subject);
    const client = clients.get(transport) ?? createClient(transport, clock);
    clients.set(transport, client);
    const { rpc, readStatuses } = client;
    const reads = createReads(rpc, createFloor(clock, seenSlot), known, readStatuses);
    return { ...reads, ...facts, view, decide, host, leaveNode: leave };
  };
  const decide: Chain['decide'] = async (seenSlot, read) => {
    for (let nodesLeft = nodes.each.length; ; nodesLeft -= 1) {
      try {
        return await read(view(seenSlot));
      } catch (error) {
        // The failure has put the node last.
        if (nodesLeft === 1 || !(error instanceof Error && isNodeFailure(error.cause))) throw error;
      }
    }
  };
  const anyNode = createSolanaRpcFromTransport(nodes.failover);
  return {
    ...createReads(anyNode, NO_FLOOR, known, createStatusReader(anyNode, clock)),
    ...facts,
    view,
    decide,
  };
}

function createClient(transport: RpcTransport, clock: NonNullable<ChainOptions['clock']>) {
  const rpc = createSolanaRpcFromTransport(transport);
  return { rpc, readStatuses: createStatusReader(rpc, clock) };
}

/**
 * Sends a transaction to every node, since one that is behind or cut off passes nothing on. One that accepts is enough: the others
 * go on receiving it, and one that hangs delays nothing.
 */
async function sendToAll(nodes: readonly ChainRpc[], transaction: Base64EncodedWireTransaction): Promise<Signature> {
  try {
    return await Promise.any(nodes.map((rpc) => sendTo(rpc, transaction)));
  } catch (error) {
    // The error of the preferred node; `errors` has the order of the nodes.
    throw error instanceof AggregateError && error.errors.length > 0
      ? error.errors[0]
      : new Error('sendTransaction: there is no node.');
  }
}

async function sendTo(rpc: ChainRpc, transaction: Base64EncodedWireTransaction): Promise<Signature> {
  // Preflight would reject a transaction on a block that this node has not seen. maxRetries is omitted: the node then
  // forwards the transaction until it lands or expires (Solana RPC, sendTransaction).
  const request = rpc.sendTransaction(transaction, { encoding: 'base64', skipPreflight: true });
  try {
    return await ask('sendTransaction', request, shapes.signature);
  } catch (error) {
    if (isAlreadyProcessed(error)) return signatureOf(transaction);
    throw error;
  }
}

type Reads = Omit<Chain, 'send' | 'view' | 'decide' | keyof PastReads>;

/** Facts about the cluster that all views share. */
interface Known {
  readonly rentLamports: Map<number, bigint>;
  readonly pace: FinalityPace;
}

function createReads(rpc: ChainRpc, floor: Floor, { rentLamports, pace }: Known, readStatuses: StatusReader): Reads {
  return {
    accounts: (addresses, { commitment = 'confirmed', maxBytes } = {}) =>
      inChunks(addresses, MAX_MULTIPLE_ACCOUNTS, async (chunk) => {
        const { context, value } = await floor.await(() => {
          const slice = maxBytes === undefined ? {} : { dataSlice: { offset: 0, length: maxBytes } };
          const config = { commitment, encoding: 'base64', ...slice, ...floor.at(commitment) } as const;
          return ask('getMultipleAccounts', rpc.getMultipleAccounts(chunk, config), AccountsAnswer);
        });
        floor.raise(commitment, context.slot);
        if (commitment === 'finalized') pace.saw(context.slot, performance.now());
        return paired('getMultipleAccounts', chunk, value, (address, account) => account && { ...account, address });
      }),

    latestBlockhash: () =>
      floor.await(async () => {
        const config = { commitment: 'confirmed', ...floor.at('confirmed') } as const;
        return (await ask('getLatestBlockhash', rpc.getLatestBlockhash(config), BlockhashAnswer)).value;
      }),

    blockHeight: () =>
      floor.await(() => {
        const config = { commitment: 'confirmed', ...floor.at('confirmed') } as const;
        return ask('getBlockHeight', rpc.getBlockHeight(config), shapes.u64);
      }),

    slot: () =>
      floor.await(() => {
        const config = { commitment: 'confirmed', ...floor.at('confirmed') } as const;
        return ask('getSlot', rpc.getSlot(config), shapes.u64);
      }),

    finalizedBlock: async () => {
      const block = await floor.await(() => {
        const config = { commitment: 'finalized', ...floor.at('finalized') } as const;
        return ask('getEpochInfo', rpc.getEpochInfo(config), EpochInfoAnswer);
      });
      floor.raise('finalized', block.slot);
      pace.saw(block.slot, performance.now());
      return block;
    },

    untilFinalMs: (slot) => pace.untilFinalMs(slot, performance.now()),

    signatureOutcomes: async (signatures) => {
      // This method takes no minContextSlot. Its caller compares the context slot.
      const { contextSlot, statuses } = await readStatuses(signatures);
      const outcomes = statuses.map((status) => status ?? 'unknown');
      for (const outcome of outcomes) {
        if (outcome === 'unknown' || outcome.confirmation === 'processed') continue;
        floor.raise('confirmed', outcome.slot);
        if (outcome.confirmation === 'finalized') floor.raise('finalized', outcome.slot);
      }
      return { contextSlot, outcomes };
    },

    transactionsNaming: (address, { commitment }) => readNaming(rpc, address, commitment, floor),

    simulate: (transaction, { sigVerify, replaceRecentBlockhash }) =>
      floor.await(async () => {
        const config = { commitment: 'confirmed', encoding: 'base64', ...floor.at('confirmed') } as const;
        const request = sigVerify
          ? rpc.simulateTransaction(transaction, { ...config, sigVerify, replaceRecentBlockhash: false })
          : rpc.simulateTransaction(transaction, { ...config, sigVerify, replaceRecentBlockhash });
        return (await ask('simulateTransaction', request, SimulationAnswer)).value;
      }),

    recentPrioritizationFees: (accounts) =>
      ask('getRecentPrioritizationFees', rpc.getRecentPrioritizationFees(accounts), PrioritizationFeesAnswer),

    minimumBalanceForRentExemption: async (bytes) => {
      const known = rentLamports.get(bytes);
      if (known !== undefined) return known;
      const request = rpc.getMinimumBalanceForRentExemption(BigInt(bytes));
      const lamports = await ask('getMinimumBalanceForRentExemption', request, shapes.u64);
      rentLamports.set(bytes, lamports);
      return lamports;
    },

    genesisHash: () => ask('getGenesisHash', rpc.getGenesisHash(), shapes.blockhash),
  };
}

/** A preview of 7,000 recipients makes 140 requests: not all at once, because the node answers others too. */
const CHUNKS_AT_ONCE = 8;

async function inChunks<Item, Result>(
  items: readonly Item[],
  size: number,
  read: (chunk: Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const chunks of chunksOf(chunksOf(items, size), CHUNKS_AT_ONCE)) {
    results.push(...(await Promise.all(chunks.map(read))).flat());
  }
  return results;
}

function isAlreadyProcessed(error: unknown): boolean {
  return nodeErrorOf(error)?.transactionError === '"AlreadyProcessed"';
}
