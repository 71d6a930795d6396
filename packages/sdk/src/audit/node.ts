import {
  ADDRESS_BYTES,
  address,
  addressDecoder,
  clusterTimeOf,
  isSignatureText,
  SYSVAR_CLOCK_ADDRESS,
} from '@flywheel/protocol';
import {
  chooseNode,
  createPacer,
  createRpcTransport,
  FILTER_TRANSACTION_NOT_FOUND,
  MIN_CONTEXT_SLOT_NOT_REACHED,
  RpcError,
  type RpcUrl,
  sleep,
  TRANSACTION_HISTORY_NOT_AVAILABLE,
  urlsOf,
} from '@flywheel/solana-rpc';
import { decodeMultisig, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { getBase64Encoder, getU64Decoder, type RpcTransport } from '@solana/kit';
import { getTokenSize, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { type ChainTransaction, findTransaction, GET_TRANSACTION, listOf } from '../chain/read-transaction.ts';
import { askTransport, type Commitment, fieldOf, RPC_TIMEOUT_MS, unexpectedAnswer } from '../chain/rpc.ts';
import { FlywheelError, isFlywheelError } from '../errors.ts';
import { isAddressText, isDecimals, toAmount } from './balances.ts';

/** One line of `getSignaturesForAddress`. */
export interface Entry {
  readonly signature: string;
  readonly slot: number;
  /** Seconds since 1970; null if the node does not know it. */
  readonly blockTime: number | null;
  readonly hasFailed: boolean;
}

/** Where an account's history ends: its balance in a slot. */
export interface Anchor {
  readonly slot: number;
  readonly balance: bigint;
}

export interface TokenAnchor extends Anchor {
  readonly account: string;
  readonly mint: string;
  /** null if the mint is closed. */
  readonly decimals: number | null;
}

/** What an audit asks of the nodes of a cluster. Every call throws FlywheelError if the node does not answer as documented. */
export interface AuditNode {
  readGenesisHash(): Promise<string>;
  /** The cluster's time, in seconds since 1970; null if the node does not show its clock. */
  readTime(): Promise<number | null>;
  /** Lamports of an account; 0 if it does not exist. */
  readLamports(account: string): Promise<Anchor>;
  /** Lamports of a multisig, and the number of transactions that it has had. @throws RangeError if it is not a multisig. */
  readMultisig(multisig: string): Promise<Anchor & { readonly transactionIndex: bigint }>;
  /** The token accounts that a vault owns now. */
  readTokenAccounts(vault: string): Promise<TokenAnchor[]>;
  /** The next older transactions that name an account, newest first; null if the node has deleted what is older. */
  listOlder(account: string, page: Page): Promise<readonly Entry[] | null>;
  /** A transaction; null if every node answers that it does not have it any more. */
  readTransaction(entry: Entry): Promise<ChainTransaction | null>;
}

export interface Page {
  /** The last entry of the page before; null for the newest. */
  readonly before: Pick<Entry, 'signature' | 'slot'> | null;
  /** At most 1,000. */
  readonly limit: number;
  /** The node must have reached this slot. */
  readonly minContextSlot: number;
}

export interface NodeOptions {
  readonly commitment: Commitment;
  /** Limits the rate of requests; null for no limit. */
  readonly requestsPerSecond: number | null;
  /** Attempts of each call; 7 by default. */
  readonly maxAttempts?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Opens the first healthy node of a list; transactions that it does not have are asked of the others. */
export async function openAuditNode(rpcUrl: RpcUrl, options: NodeOptions): Promise<AuditNode> {
  const { commitment, requestsPerSecond, maxAttempts = MAX_ATTEMPTS, signal } = options;
  const first = await chooseNode(rpcUrl, signal);
  const pacer = requestsPerSecond === null ? {} : { pacer: createPacer(1_000 / requestsPerSecond) };
  const transports = [first, ...urlsOf(rpcUrl).filter((url) => url !== first)].map((url) =>
    createRpcTransport({ url, timeoutMs: RPC_TIMEOUT_MS, maxAttempts, ...pacer }),
  );
  const [chosen] = transports;
  if (!chosen) throw new RangeError('At least one RPC URL is needed.');
  const ask = (method: string, ...params: readonly unknown[]) => askTransport(chosen, method, params, signal);
  /** The newest slot of a balance; null before the first. */
  let reached: number | null = null;
  const reach = (slot: number) => {
    reached = Math.max(reached ?? slot, slot);
    return slot;
  };
  /** By account, the slot that was listed last, and the transactions that were listed in it. */
  const ends = new Map<string, ListEnd>();
  const readAccount = async (account: string) => {
    const answer = await ask(GET_ACCOUNT, account, { encoding: 'base64', commitment });
    const value = fieldOf(answer, 'value');
    return { value, slot: reach(contextSlot(GET_ACCOUNT, answer)), balance: value === null ? 0n : lamportsIn(value) };
  };
  return {
    readGenesisHash: async () => {
      const hash = await ask('getGenesisHash');
      if (typeof hash !== 'string') throw unexpectedAnswer('getGenesisHash', hash);
      return hash;
    },
    readTime: async () => {
      const data = fieldOf(fieldOf((await readAccount(SYSVAR_CLOCK_ADDRESS)).value, 'data'), 0);
      return typeof data === 'string' ? clusterTimeOf(getBase64Encoder().encode(data)) : null;
    },
    readLamports: async (account) => {
      const { slot, balance } = await readAccount(account);
      return { slot, balance };
    },
    readMultisig: async (multisig) => {
      const { value, slot, balance } = await readAccount(multisig);
      const data = fieldOf(fieldOf(value, 'data'), 0);
      if (typeof data !== 'string') throw new RangeError(`There is no multisig ${multisig} on this cluster.`);
      const [owner, bytes] = [String(fieldOf(value, 'owner')), getBase64Encoder().encode(data)];
      if (owner !== SQUADS_PROGRAM_ADDRESS) throw new RangeError(`${multisig} is not a multisig of Squads.`);
      const account = { address: address(multisig), programAddress: SQUADS_PROGRAM_ADDRESS, data: bytes };
      return { slot, balance, transactionIndex: decodeMultisig(account).transactionIndex };
    },
    readTokenAccounts: async (vault) => {
      const read = async (programId: string) => {
        const answer = await ask(GET_TOKENS, vault, { programId }, { encoding: 'jsonParsed', commitment });
        const slot = reach(contextSlot(GET_TOKENS, answer));
        return listOf(fieldOf(answer, 'value')).map((held) => toTokenAnchor(held, slot));
      };
      return (await Promise.all([TOKEN_PROGRAM_ADDRESS, TOKEN_2022_PROGRAM_ADDRESS].map(read))).flat();
    },
    listOlder: async (account, { before, limit, minContextSlot }) => {
      const config = { commitment, limit, minContextSlot, ...(before && { before: before.signature }) };
      try {
        const answer = await askUntilReached(() => ask(GET_SIGNATURES, account, config), signal);
        if (!Array.isArray(answer)) throw unexpectedAnswer(GET_SIGNATURES, answer);
        const entries = answer.map(toEntry);
        const end = (before && ends.get(account)) ?? { slot: before?.slot ?? Infinity, signatures: new Set() };
        ends.set(account, requireOlder(account, end, entries));
        return entries;
      } catch (error) {
        if (isHistoryMissing(error)) return null;
        throw error;
      }
    },
    readTransaction: async (entry) => {
      const { signature } = entry;
      const askOne = async (transport: RpcTransport, params: readonly unknown[]) => {
        try {
          return await askTransport(transport, GET_TRANSACTION, params, signal);
        } catch (error) {
          if (isHistoryMissing(error)) return null;
          throw error;
        }
      };
      const find = () => findTransaction(transports, { signature, commitment }, askOne, signal);
      const isNew = reached !== null && entry.slot > reached - NEW_SLOTS;
      let transaction = await find();
      for (let attempt = 1; transaction === null && isNew && attempt < MAX_NEW_ATTEMPTS; attempt += 1) {
        await sleep(BEHIND_PAUSE_MS, signal);
        transaction = await find();
      }
      if (transaction === null) return null;
      const { slot, failure } = transaction;
      if (slot !== entry.slot || failure !== null)
        throw unexpectedAnswer(GET_TRANSACTION, { listed: entry, slot, failure });
      return transaction;
    },
  };
}

const GET_ACCOUNT = 'getAccountInfo';
const GET_TOKENS = 'getTokenAccountsByOwner';
const GET_SIGNATURES = 'getSignaturesForAddress';
/** An audit makes thousands of calls, and public nodes refuse some of them for a while: six waits add up to 16 s. */
const MAX_ATTEMPTS = 7;

/** Asks again while a node is behind: of several nodes behind one URL, one lists and another has shown the balances. */
async function askUntilReached(ask: () => Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt === MAX_BEHIND_ATTEMPTS || codeOf(error) !== MIN_CONTEXT_SLOT_NOT_REACHED) throw error;
      await sleep(BEHIND_PAUSE_MS, signal);
    }
  }
}

/** About a slot. */
const BEHIND_PAUSE_MS = 500;
/** A node behind the same URL that is further back is not healthy. */
const NEW_SLOTS = 32;
/** Two and a half seconds: a node that has deleted a transaction answers the same. */
const MAX_NEW_ATTEMPTS = 6;
/** Half a minute: a node that is further behind is not healthy. */
const MAX_BEHIND_ATTEMPTS = 60;

interface ListEnd {
  readonly slot: number;
  readonly signatures: Set<string>;
}

/** More than a block has room for. */
const MAX_IN_SLOT = 100_000;

/** Requires that a list goes on to what is older: one that repeats itself would never end. */
function requireOlder(account: string, end: ListEnd, entries: readonly Entry[]): ListEnd {
  let { slot, signatures } = end;
  let isOlder = entries.length === 0;
  for (const entry of entries) {
    if (entry.slot < slot) [slot, signatures] = [entry.slot, new Set()];
    isOlder = entry.slot === slot && (isOlder || !signatures.has(entry.signature));
    if (entry.slot > slot) break;
    signatures.add(entry.signature);
  }
  if (isOlder && signatures.size < MAX_IN_SLOT) return { slot, signatures };
  const message = `The node lists the transactions of ${account} in no order, or without an end.`;
  throw new FlywheelError({ code: 'ERR_UNEXPECTED_REPLY', message });
}

/** The node keeps no history, or none as old as the transaction from which to list. */
const HISTORY_MISSING: ReadonlySet<number | null> = new Set([
  TRANSACTION_HISTORY_NOT_AVAILABLE,
  FILTER_TRANSACTION_NOT_FOUND,
]);

function isHistoryMissing(error: unknown): boolean {
  return HISTORY_MISSING.has(codeOf(error));
}

/** The JSON-RPC code of a node's error; null for every other error. */
function codeOf(error: unknown): number | null {
  return isFlywheelError(error) && error.cause instanceof RpcError ? error.cause.code : null;
}

function contextSlot(method: string, answer: unknown): number {
  const slot = fieldOf(fieldOf(answer, 'context'), 'slot');
  if (typeof slot !== 'number') throw unexpectedAnswer(method, answer);
  return slot;
}

function lamportsIn(account: unknown): bigint {
  return toAmount(fieldOf(account, 'lamports'));
}

function toTokenAnchor(held: unknown, slot: number): TokenAnchor {
  const [account, data] = [fieldOf(held, 'pubkey'), fieldOf(fieldOf(held, 'account'), 'data')];
  const bytes = fieldOf(data, 0);
  if (!isAddressText(account)) throw unexpectedAnswer(GET_TOKENS, held);
  if (typeof bytes === 'string') return { account, slot, ...readUnparsed(bytes) };
  const info = fieldOf(fieldOf(data, 'parsed'), 'info');
  const [mint, amount] = [fieldOf(info, 'mint'), fieldOf(info, 'tokenAmount')];
  const decimals = fieldOf(amount, 'decimals');
  if (!isAddressText(mint) || !isDecimals(decimals)) throw unexpectedAnswer(GET_TOKENS, held);
  return { account, mint, decimals, slot, balance: toAmount(fieldOf(amount, 'amount')) };
}

/** A token account begins with its mint and its owner. */
const AMOUNT_OFFSET = 2 * ADDRESS_BYTES;

/** Reads a token account whose mint is closed: a node cannot format its amount, and answers its bytes instead, in base64. */
function readUnparsed(base64: string): Pick<TokenAnchor, 'mint' | 'balance' | 'decimals'> {
  const bytes = getBase64Encoder().encode(base64);
  if (bytes.length < getTokenSize()) throw unexpectedAnswer(GET_TOKENS, base64);
  // A page that verifies proofs has no other use for the decoder of @solana-program/token, which adds 900 bytes to it.
  return { mint: addressDecoder.decode(bytes), balance: getU64Decoder().decode(bytes, AMOUNT_OFFSET), decimals: null };
}

function toEntry(value: unknown): Entry {
  const [signature, slot, blockTime] = [
    fieldOf(value, 'signature'),
    fieldOf(value, 'slot'),
    fieldOf(value, 'blockTime'),
  ];
  const isEntry = typeof signature === 'string' && isSignatureText(signature) && typeof slot === 'number';
  if (!isEntry) throw unexpectedAnswer(GET_SIGNATURES, value);
  return {
    signature,
    slot,
    blockTime: typeof blockTime === 'number' ? blockTime : null,
    hasFailed: (fieldOf(value, 'err') ?? null) !== null,
  };
}
