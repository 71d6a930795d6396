import { createRpcTransport, type TransportOptions } from '@flywheel/solana-rpc';
import {
  type Address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  type Commitment,
  createSolanaRpcFromTransport,
  type Instruction,
  type Signature,
} from '@solana/kit';
import * as z from 'zod';
import { type LandedTransaction, LandedTransactionAnswer } from './landed-transaction.ts';
import { ask, nodeErrorOf, shapes } from './rpc.ts';
import { signatureOf } from './transactions.ts';

/**
 * A cluster, over JSON-RPC. Every request times out and is tried again a few times (`@flywheel/solana-rpc`); every error
 * names its method, and an answer of another shape than documented is an error.
 */
export interface Chain {
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
  /** In the order asked for, the node’s whole history searched. */
  signatureOutcomes(signatures: readonly Signature[]): Promise<readonly SignatureOutcome[]>;
  /** A confirmed transaction’s fee and what it did to balances; null when the node does not know it (yet, or any more). */
  transactionCosts(signature: Signature): Promise<TransactionCosts | null>;
  /** Logs of a confirmed transaction; empty when the node does not know it (yet, or any more). */
  transactionLogs(signature: Signature): Promise<readonly string[]>;
  /** null when the node does not know it (yet, or any more). */
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
   * Hands a transaction to the node, which passes it on until it lands or expires. Accepted does not mean landed; one
   * that is on chain already counts as accepted.
   */
  send(transaction: Base64EncodedWireTransaction): Promise<Signature>;
  /**
   * Micro-lamports per compute unit: for each recent block, the least that a transaction in it paid which writes these
   * accounts; 128 of them at most.
   */
  recentPrioritizationFees(accounts: readonly Address[]): Promise<readonly bigint[]>;
  /** Lamports. Remembered per size: it changes only with the cluster’s release. */
  minimumBalanceForRentExemption(bytes: number): Promise<bigint>;
  /** Tells clusters apart. */
  genesisHash(): Promise<Blockhash>;
}

/** In the words of kit’s `EncodedAccount`. */
export interface ChainAccount {
  readonly address: Address;
  readonly lamports: bigint;
  /** The program that owns it. */
  readonly programAddress: Address;
  /** True for a program. */
  readonly executable: boolean;
  readonly data: Uint8Array;
}

export interface NamingTransaction {
  readonly signature: Signature;
  /** The transaction's own instructions, without those that they called in turn. */
  readonly instructions: readonly Instruction[];
}

/** Lamports. A failed transaction changes nothing but its fee payer’s balance. */
export interface TransactionCosts {
  readonly feeLamports: bigint;
  /** Lamports that each account of the transaction gained or, if negative, lost. */
  readonly changes: ReadonlyMap<Address, bigint>;
  readonly failed: boolean;
}

export type SignatureOutcome = 'unknown' | LandedSignature;

export interface LandedSignature {
  readonly slot: bigint;
  /** JSON text of the TransactionError, e.g. `{"InstructionError":[0,{"Custom":6008}]}`; null when it succeeded. */
  readonly err: string | null;
  readonly confirmation: Commitment;
}

/** A node refuses to verify signatures over a blockhash that it has replaced. */
export type SimulateOptions =
  | { readonly sigVerify: boolean; readonly replaceRecentBlockhash: false }
  | { readonly sigVerify: false; readonly replaceRecentBlockhash: true };

export interface Simulation {
  /** The same as in `LandedSignature`. */
  readonly err: string | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint | null;
}

export interface ChainOptions extends Pick<TransportOptions, 'clock' | 'log' | 'timeoutMs'> {
  readonly rpcUrl: string;
}

export function createChain({ rpcUrl, ...options }: ChainOptions): Chain {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ ...options, url: rpcUrl }));
  const landedTransaction = (signature: Signature, commitment: 'confirmed' | 'finalized' = 'confirmed') => {
    const config = { commitment, encoding: 'json', maxSupportedTransactionVersion: 1 } as const;
    return ask('getTransaction', rpc.getTransaction(signature, config), LandedTransactionAnswer);
  };
  const rentLamports = new Map<number, bigint>();
  return {
    accounts: (addresses, { commitment = 'confirmed' } = {}) =>
      inChunks(addresses, MAX_ACCOUNTS, async (chunk) => {
        const request = rpc.getMultipleAccounts(chunk, { commitment, encoding: 'base64' });
        const { value } = await ask('getMultipleAccounts', request, AccountsAnswer);
        return paired('getMultipleAccounts', chunk, value, (address, account) => account && { ...account, address });
      }),

    latestBlockhash: async () =>
      (await ask('getLatestBlockhash', rpc.getLatestBlockhash({ commitment: 'confirmed' }), BlockhashAnswer)).value,

    blockHeight: () => ask('getBlockHeight', rpc.getBlockHeight({ commitment: 'confirmed' }), shapes.u64),

    slot: () => ask('getSlot', rpc.getSlot({ commitment: 'confirmed' }), shapes.u64),

    signatureOutcomes: (signatures) =>
      inChunks(signatures, MAX_SIGNATURES, async (chunk) => {
        const request = rpc.getSignatureStatuses(chunk, { searchTransactionHistory: true });
        const { value } = await ask('getSignatureStatuses', request, StatusesAnswer);
        return paired('getSignatureStatuses', chunk, value, (_signature, status) => status ?? 'unknown');
      }),

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
      for (const signature of await succeededSignatures(rpc, address, commitment)) {
        const found = await landedTransaction(signature, commitment);
        if (!found) throw new Error(`getTransaction: ${signature} of the history of ${address} is not known.`);
        transactions.push({ signature, instructions: found.calls.map(({ instruction }) => instruction) });
      }
      return transactions;
    },

    simulate: async (transaction, { sigVerify, replaceRecentBlockhash }) => {
      const config = { commitment: 'confirmed', encoding: 'base64' } as const;
      const request = sigVerify
        ? rpc.simulateTransaction(transaction, { ...config, sigVerify, replaceRecentBlockhash: false })
        : rpc.simulateTransaction(transaction, { ...config, sigVerify, replaceRecentBlockhash });
      return (await ask('simulateTransaction', request, SimulationAnswer)).value;
    },

    send: async (transaction) => {
      // Preflight would refuse a transaction built on a block that this node has yet to see. maxRetries is left out:
      // the node then passes the transaction on until it lands or its lifetime ends (Solana RPC, sendTransaction).
      const request = rpc.sendTransaction(transaction, { encoding: 'base64', skipPreflight: true });
      try {
        return await ask('sendTransaction', request, shapes.signature);
      } catch (error) {
        if (isAlreadyProcessed(error)) return signatureOf(transaction);
        throw error;
      }
    },

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

const AccountsAnswer = z.object({
  value: z.array(
    z
      .object({ lamports: shapes.u64, owner: shapes.address, executable: z.boolean(), data: shapes.bytes })
      .transform(({ owner: programAddress, ...rest }) => ({ ...rest, programAddress }))
      .nullable(),
  ),
});

const BlockhashAnswer = z.object({
  value: z.object({ blockhash: shapes.blockhash, lastValidBlockHeight: shapes.u64 }),
});

const PrioritizationFeesAnswer = z
  .array(z.object({ prioritizationFee: shapes.u64 }))
  .transform((blocks): readonly bigint[] => blocks.map(({ prioritizationFee }) => prioritizationFee));

const StatusesAnswer = z.object({
  value: z.array(
    z
      .object({
        slot: shapes.u64,
        err: shapes.transactionError,
        confirmations: shapes.u64.nullable(),
        confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
      })
      .transform(({ slot, err, confirmations, confirmationStatus }): LandedSignature => {
        // Long-term storage has no confirmation status; no count of confirmations means rooted.
        const confirmation = confirmationStatus ?? (confirmations === null ? 'finalized' : 'processed');
        return { slot, err, confirmation };
      })
      .nullable(),
  ),
});

const TransactionAnswer = z
  .object({
    transaction: z.object({ message: z.object({ accountKeys: z.array(shapes.address) }) }),
    meta: z.object({
      err: shapes.transactionError,
      fee: shapes.u64,
      preBalances: z.array(shapes.u64),
      postBalances: z.array(shapes.u64),
      loadedAddresses: z.object({ writable: z.array(shapes.address), readonly: z.array(shapes.address) }).nullish(),
    }),
  })
  .transform(({ transaction, meta }): TransactionCosts => {
    const { writable = [], readonly = [] } = meta.loadedAddresses ?? {};
    const accounts = [...transaction.message.accountKeys, ...writable, ...readonly];
    const balances = paired('getTransaction', meta.preBalances, meta.postBalances, (before, after) => after - before);
    return {
      feeLamports: meta.fee,
      failed: meta.err !== null,
      changes: new Map(paired('getTransaction', accounts, balances, (account, change) => [account, change] as const)),
    };
  })
  .nullable();

const LogsAnswer = z.object({ meta: z.object({ logMessages: z.array(z.string()).nullish() }) }).nullable();

const HistoryAnswer = z.array(z.object({ signature: shapes.signature, err: shapes.transactionError }));

/** Most entries of one answer (Solana RPC, getSignaturesForAddress). */
const MAX_HISTORY = 1_000;

async function succeededSignatures(
  rpc: ChainRpc,
  address: Address,
  commitment: 'confirmed' | 'finalized',
): Promise<Signature[]> {
  const newestFirst: z.output<typeof HistoryAnswer> = [];
  for (let before: Signature | undefined; ; before = newestFirst.at(-1)?.signature) {
    const config = { commitment, limit: MAX_HISTORY, ...(before && { before }) } as const;
    const page = await ask('getSignaturesForAddress', rpc.getSignaturesForAddress(address, config), HistoryAnswer);
    newestFirst.push(...page);
    if (page.length < MAX_HISTORY) break;
  }
  return newestFirst
    .filter(({ err }) => err === null)
    .map(({ signature }) => signature)
    .reverse();
}

type ChainRpc = ReturnType<typeof createSolanaRpcFromTransport>;

const SimulationAnswer = z.object({
  value: z
    .object({
      err: shapes.transactionError,
      logs: z.array(z.string()).nullish(),
      unitsConsumed: shapes.u64.nullish(),
    })
    .transform(
      ({ err, logs, unitsConsumed }): Simulation => ({ err, logs: logs ?? [], unitsConsumed: unitsConsumed ?? null }),
    ),
});

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

function paired<Asked, Answered, Result>(
  method: string,
  asked: readonly Asked[],
  answered: readonly Answered[],
  combine: (asked: Asked, answered: Answered) => Result,
): Result[] {
  if (answered.length !== asked.length) {
    throw new Error(`${method}: unexpected answer: ${answered.length} entries for ${asked.length} asked for`);
  }
  // The lengths are equal, so `answered[i]` is there; Answered may itself include null.
  return asked.map((item, i) => combine(item, answered[i] as Answered));
}

function isAlreadyProcessed(error: unknown): boolean {
  return nodeErrorOf(error)?.transactionError === '"AlreadyProcessed"';
}
