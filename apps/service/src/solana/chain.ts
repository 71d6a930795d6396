import { setTimeout } from 'node:timers/promises';
import { createNodes, MIN_CONTEXT_SLOT_NOT_REACHED, type NodesOptions } from '@flywheel/solana-rpc';
import {
  type Address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  type Commitment,
  createSolanaRpcFromTransport,
  type Instruction,
  type Signature,
} from '@solana/kit';
import {
  AccountsAnswer,
  BlockhashAnswer,
  type ChainAccount,
  EpochInfoAnswer,
  HistoryAnswer,
  type LandedSignature,
  LogsAnswer,
  PrioritizationFeesAnswer,
  paired,
  type Simulation,
  SimulationAnswer,
  StatusesAnswer,
  TransactionAnswer,
  type TransactionCosts,
} from './answers.ts';
import { type LandedTransaction, LandedTransactionAnswer } from './landed-transaction.ts';
import { ask, nodeErrorOf, shapes } from './rpc.ts';
import { signatureOf } from './transactions.ts';

/**
 * A cluster, over JSON-RPC. Every request times out and is tried again a few times (`@flywheel/solana-rpc`); every error
 * names its method, and an answer of another shape than documented is an error. Each read goes to the first node that can
 * answer it; reads that belong to one decision need a `view`.
 */
export interface Chain {
  /**
   * Creates a view for one decision or one job: one node answers all of its reads, and never with an older state than the
   * view has seen before. A read waits a few seconds for a node that is behind.
   * @param seenSlot a slot that is known to be confirmed; 0 by default.
   */
  view(seenSlot?: bigint): Chain;
  /** Reads accounts in the given order; null for one that does not exist. `confirmed` by default. */
  accounts(
    addresses: readonly Address[],
    options?: { readonly commitment?: Commitment },
  ): Promise<readonly (ChainAccount | null)[]>;
  /** Read at commitment `confirmed`. */
  latestBlockhash(): Promise<{ readonly blockhash: Blockhash; readonly lastValidBlockHeight: bigint }>;
  /** Read at commitment `confirmed`. */
  blockHeight(): Promise<bigint>;
  /** Read at commitment `confirmed`. */
  slot(): Promise<bigint>;
  /** Reads the newest finalized block. */
  finalizedBlock(): Promise<{ readonly slot: bigint; readonly blockHeight: bigint }>;
  /** Reads outcomes in the order asked for. The node searches its whole history. */
  signatureOutcomes(signatures: readonly Signature[]): Promise<SignatureOutcomes>;
  /** Reads a confirmed transaction’s fee and balance changes; null if the node does not know it (yet, or any more). */
  transactionCosts(signature: Signature): Promise<TransactionCosts | null>;
  /** Logs of a confirmed transaction; empty when the node does not know it (yet, or any more). */
  transactionLogs(signature: Signature): Promise<readonly string[]>;
  /** Reads a confirmed transaction; null if the node does not know it (yet, or any more). */
  landedTransaction(signature: Signature): Promise<LandedTransaction | null>;
  /**
   * Reads the transactions that named an address and succeeded, oldest first, with the instructions that they called.
   * @throws Error if the node lists a transaction that it does not have.
   */
  transactionsNaming(
    address: Address,
    options: { readonly commitment: 'confirmed' | 'finalized' },
  ): Promise<readonly NamingTransaction[]>;
  /** Simulates at commitment `confirmed`. A transaction that would fail is an answer, not an error. */
  simulate(transaction: Base64EncodedWireTransaction, options: SimulateOptions): Promise<Simulation>;
  /**
   * Sends a transaction to the node, which forwards it until it lands or expires. Acceptance does not mean that it
   * lands; one that is already on chain counts as accepted.
   */
  send(transaction: Base64EncodedWireTransaction): Promise<Signature>;
  /**
   * Reads for each recent block, 128 at most, the lowest price (micro-lamports per compute unit) of a transaction that
   * writes these accounts.
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

export type { ChainAccount, LandedSignature, Simulation, TransactionCosts };

export interface NamingTransaction {
  readonly signature: Signature;
  /** The transaction's own instructions, each with those that it called in turn: anyone can call a program by another. */
  readonly instructions: readonly Instruction[];
}

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
  const nodes = createNodes({ ...options, urls: rpcUrls });
  const senders = nodes.each.map((transport) => createSolanaRpcFromTransport(transport));
  const rentLamports = new Map<number, bigint>();
  const { clock = { sleep } } = options;
  const view = (seenSlot = 0n): Chain => {
    const rpc = createSolanaRpcFromTransport(nodes.pin());
    return { ...createReads(rpc, createFloor(clock, seenSlot), rentLamports), send, view };
  };
  const send: Chain['send'] = (transaction) => sendToAll(senders, transaction);
  const anyNode = createSolanaRpcFromTransport(nodes.failover);
  return { ...createReads(anyNode, NO_FLOOR, rentLamports), send, view };
}

/** The newest slots that a view has seen, below which no node may answer it. */
interface Floor {
  /** The parameter of a request at a commitment. */
  at(commitment: Commitment): { readonly minContextSlot?: bigint };
  /** Remembers that a commitment has reached a slot. */
  raise(commitment: Commitment, slot: bigint): void;
  /** Repeats a request while the node has not reached the slot that it asks for. */
  await<T>(request: () => Promise<T>): Promise<T>;
}

const NO_FLOOR: Floor = { at: () => ({}), raise: () => undefined, await: (request) => request() };

/** A slot or so: behind a load balancer the next request may reach another node. */
const BEHIND_POLL_MS = 400;
/** Four seconds. The job then runs again with another node. */
const MAX_BEHIND_POLLS = 10;

function createFloor(clock: Required<ChainOptions>['clock'], seenSlot: bigint): Floor {
  const slots = { processed: seenSlot, confirmed: seenSlot, finalized: 0n };
  return {
    at: (commitment) => (slots[commitment] > 0n ? { minContextSlot: slots[commitment] } : {}),
    raise: (commitment, slot) => {
      if (slot > slots[commitment]) slots[commitment] = slot;
    },
    await: async (request) => {
      for (let polls = 1; ; polls += 1) {
        try {
          return await request();
        } catch (error) {
          if (nodeErrorOf(error)?.code !== MIN_CONTEXT_SLOT_NOT_REACHED || polls === MAX_BEHIND_POLLS) throw error;
          await clock.sleep(BEHIND_POLL_MS);
        }
      }
    },
  };
}

/** Sends a transaction to every node, since one that is behind or cut off passes nothing on. One that accepts is enough. */
async function sendToAll(nodes: readonly ChainRpc[], transaction: Base64EncodedWireTransaction): Promise<Signature> {
  const sent = await Promise.allSettled(nodes.map((rpc) => sendTo(rpc, transaction)));
  const accepted = sent.find((result) => result.status === 'fulfilled');
  if (accepted) return accepted.value;
  throw sent[0]?.status === 'rejected' ? sent[0].reason : new Error('sendTransaction: there is no node.');
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

function createReads(rpc: ChainRpc, floor: Floor, rentLamports: Map<number, bigint>): Omit<Chain, 'send' | 'view'> {
  const landedTransaction = (signature: Signature, commitment: 'confirmed' | 'finalized' = 'confirmed') => {
    const config = { commitment, encoding: 'json', maxSupportedTransactionVersion: 1 } as const;
    return ask('getTransaction', rpc.getTransaction(signature, config), LandedTransactionAnswer);
  };
  return {
    accounts: (addresses, { commitment = 'confirmed' } = {}) =>
      inChunks(addresses, MAX_ACCOUNTS, async (chunk) => {
        const { context, value } = await floor.await(() => {
          const config = { commitment, encoding: 'base64', ...floor.at(commitment) } as const;
          return ask('getMultipleAccounts', rpc.getMultipleAccounts(chunk, config), AccountsAnswer);
        });
        floor.raise(commitment, context.slot);
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

    slot: () => ask('getSlot', rpc.getSlot({ commitment: 'confirmed' }), shapes.u64),

    finalizedBlock: async () => {
      const block = await floor.await(() => {
        const config = { commitment: 'finalized', ...floor.at('finalized') } as const;
        return ask('getEpochInfo', rpc.getEpochInfo(config), EpochInfoAnswer);
      });
      floor.raise('finalized', block.slot);
      return block;
    },

    signatureOutcomes: async (signatures) => {
      const contextSlots: bigint[] = [];
      const outcomes = await inChunks(signatures, MAX_SIGNATURES, async (chunk) => {
        // This method takes no minContextSlot. Its caller compares the context slot.
        const request = rpc.getSignatureStatuses(chunk, { searchTransactionHistory: true });
        const { context, value } = await ask('getSignatureStatuses', request, StatusesAnswer);
        contextSlots.push(context.slot);
        return paired('getSignatureStatuses', chunk, value, (signature, status) => {
          // Later reads ask for this slot at least: one from the future would never be answered.
          if (status && status.slot > context.slot) {
            throw new Error(`getSignatureStatuses: ${signature} is in slot ${status.slot}, after ${context.slot}.`);
          }
          return status ?? 'unknown';
        });
      });
      for (const outcome of outcomes) {
        if (outcome === 'unknown' || outcome.confirmation === 'processed') continue;
        floor.raise('confirmed', outcome.slot);
        if (outcome.confirmation === 'finalized') floor.raise('finalized', outcome.slot);
      }
      const [contextSlot = 0n] = contextSlots.toSorted((a, b) => Number(a - b));
      return { contextSlot, outcomes };
    },

    transactionCosts: (signature) => {
      const config = { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 1 } as const;
      return ask('getTransaction', rpc.getTransaction(signature, config), TransactionAnswer);
    },

    transactionLogs: async (signature) => {
      const config = { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 1 } as const;
      return (await ask('getTransaction', rpc.getTransaction(signature, config), LogsAnswer))?.meta.logMessages ?? [];
    },

    landedTransaction: (signature) => landedTransaction(signature),

    transactionsNaming: async (address, { commitment }) => {
      const transactions: NamingTransaction[] = [];
      for (const signature of await succeededSignatures(rpc, address, commitment, floor)) {
        const found = await landedTransaction(signature, commitment);
        if (!found) throw new Error(`getTransaction: ${signature} of the history of ${address} is not known.`);
        transactions.push({
          signature,
          instructions: found.calls.flatMap(({ instruction, inner }) => [instruction, ...inner]),
        });
      }
      return transactions;
    },

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

/** Limit of one call (Solana RPC, getMultipleAccounts and getSignatureStatuses). */
const MAX_ACCOUNTS = 100;
const MAX_SIGNATURES = 256;

/** Most entries of one answer (Solana RPC, getSignaturesForAddress). */
const MAX_HISTORY = 1_000;

async function succeededSignatures(
  rpc: ChainRpc,
  address: Address,
  commitment: 'confirmed' | 'finalized',
  floor: Floor,
): Promise<Signature[]> {
  const newestFirst: { readonly signature: Signature; readonly err: string | null }[] = [];
  for (let before: Signature | undefined; ; before = newestFirst.at(-1)?.signature) {
    const page = await floor.await(() => {
      const config = { commitment, limit: MAX_HISTORY, ...floor.at(commitment), ...(before && { before }) } as const;
      return ask('getSignaturesForAddress', rpc.getSignaturesForAddress(address, config), HistoryAnswer);
    });
    newestFirst.push(...page);
    if (page.length < MAX_HISTORY) break;
  }
  return newestFirst
    .filter(({ err }) => err === null)
    .map(({ signature }) => signature)
    .reverse();
}

/** Waits in real time, if no clock is given. */
async function sleep(ms: number): Promise<void> {
  await setTimeout(ms);
}

type ChainRpc = ReturnType<typeof createSolanaRpcFromTransport>;

async function inChunks<Item, Result>(
  items: readonly Item[],
  size: number,
  read: (chunk: Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
  return (await Promise.all(chunks.map(read))).flat();
}

function isAlreadyProcessed(error: unknown): boolean {
  return nodeErrorOf(error)?.transactionError === '"AlreadyProcessed"';
}
