import type { DescribedInstruction } from '@flywheel/protocol';
import {
  type Address,
  address,
  getAddressDecoder,
  getStructDecoder,
  getU8Decoder,
  getU32Decoder,
  getU64Decoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { type ChainAccount, readAccounts } from './rpc.ts';
import {
  type BatchTransaction,
  batchAddress,
  batchTransactionAddress,
  decodeBatch,
  decodeBatchTransaction,
  decodeLookupTable,
  decodeMultisig,
  decodeProposal,
  proposalAddress,
  SQUADS_PROGRAM,
  startsWith,
} from './squads-codecs.ts';

export interface BatchOnChain {
  readonly multisig: ReturnType<typeof decodeMultisig>;
  readonly proposal: ReturnType<typeof decodeProposal>;
  readonly batch: ReturnType<typeof decodeBatch>;
  /** What the vault will sign, one entry a pipeline. */
  readonly pipelines: readonly PipelineOnChain[];
}

export interface PipelineOnChain {
  readonly signers: readonly Address[];
  /** Keys that Squads would invent and sign with: an honest batch has none. */
  readonly ephemeralSignerCount: number;
  readonly instructions: readonly DescribedInstruction[];
}

/**
 * Reads a whole batch from the chain: its multisig, its proposal, and every message that an approval lets the vault
 * sign, lookup tables resolved.
 * @throws Error when any part of it is missing.
 */
export async function readBatch(
  rpcUrl: string,
  { multisig, batchIndex }: { readonly multisig: string; readonly batchIndex: string },
): Promise<BatchOnChain> {
  const owner = address(multisig);
  const index = BigInt(batchIndex);
  const heads = [owner, await proposalAddress(owner, index), await batchAddress(owner, index)];
  const [multisigAccount, proposalAccount, batchAccount] = await readAccounts(rpcUrl, heads);
  const batch = decodeBatch(batchAccount ?? null);
  const positions = Array.from({ length: batch.size }, (_, position) => position);
  const places = await Promise.all(positions.map((position) => batchTransactionAddress(owner, index, position)));
  const transactions = (await readAccounts(rpcUrl, places)).map(decodeBatchTransaction);
  const tables = await readTables(rpcUrl, transactions);
  return {
    multisig: decodeMultisig(multisigAccount ?? null),
    proposal: decodeProposal(proposalAccount ?? null),
    batch,
    pipelines: transactions.map((transaction) => resolve(transaction, tables)),
  };
}

type Tables = ReadonlyMap<Address, readonly Address[]>;

async function readTables(rpcUrl: string, transactions: readonly BatchTransaction[]): Promise<Tables> {
  const named = transactions.flatMap(({ message }) => message.lookups.map(({ lookupTable }) => lookupTable));
  const distinct = [...new Set(named)];
  const accounts = await readAccounts(rpcUrl, distinct);
  return new Map(distinct.map((table, i) => [table, decodeLookupTable(accounts[i] ?? null)]));
}

function resolve({ message, ephemeralSignerBumps }: BatchTransaction, tables: Tables): PipelineOnChain {
  const { staticAccounts, lookups, instructions, signerCount } = message;
  const lookedUp = (indices: (lookup: (typeof lookups)[number]) => readonly number[]) =>
    lookups.flatMap((lookup) => indices(lookup).map((index) => entry(tables, lookup.lookupTable, index)));
  const accounts = [
    ...staticAccounts,
    ...lookedUp(({ writableIndices }) => writableIndices),
    ...lookedUp(({ readonlyIndices }) => readonlyIndices),
  ];
  const at = (index: number) => {
    const account = accounts[index];
    if (account === undefined) throw new Error(`A message names account ${index} of ${accounts.length}.`);
    return account;
  };
  return {
    signers: staticAccounts.slice(0, signerCount),
    ephemeralSignerCount: ephemeralSignerBumps.length,
    instructions: instructions.map(({ programIndex, accountIndices, data }) => ({
      programAddress: at(programIndex),
      accounts: accountIndices.map(at),
      data,
    })),
  };
}

function entry(tables: Tables, table: Address, index: number): Address {
  const found = tables.get(table)?.[index];
  if (found === undefined)
    throw new Error(`A message names place ${index} of the lookup table ${table}, which is empty.`);
  return found;
}

export interface RotationOnChain {
  readonly multisig: ReturnType<typeof decodeMultisig>;
  readonly proposal: ReturnType<typeof decodeProposal>;
  /** Every change of the multisig that an approval lets happen, in order. */
  readonly changes: readonly MemberChange[];
}

/** What a config transaction changes; `other` is whatever has no part in replacing a member, and all behind it. */
export type MemberChange =
  | { readonly kind: 'add'; readonly member: Address; readonly permissions: number }
  | { readonly kind: 'remove'; readonly member: Address }
  | { readonly kind: 'other'; readonly number: number };

/**
 * Reads from the chain what a proposal would change of its multisig.
 * @throws Error when any part of it is missing, or the proposal is about no such change.
 */
export async function readRotation(
  rpcUrl: string,
  { multisig, batchIndex }: { readonly multisig: string; readonly batchIndex: string },
): Promise<RotationOnChain> {
  const [owner, index] = [address(multisig), BigInt(batchIndex)];
  const places = [owner, await proposalAddress(owner, index), await batchAddress(owner, index)];
  const [multisigAccount, proposalAccount, transactionAccount] = await readAccounts(rpcUrl, places);
  return {
    multisig: decodeMultisig(multisigAccount ?? null),
    proposal: decodeProposal(proposalAccount ?? null),
    changes: changesIn(bodyOf(transactionAccount ?? null)),
  };
}

/** Anchor’s discriminator: the first eight bytes of SHA-256("account:ConfigTransaction"). */
const CONFIG_TRANSACTION = [94, 8, 4, 35, 113, 139, 139, 112];
const DISCRIMINATOR_BYTES = 8;

function bodyOf(account: ChainAccount | null): ReadonlyUint8Array {
  if (!account) throw new Error('The change of the multisig is not on chain.');
  if (account.owner !== SQUADS_PROGRAM || !startsWith(account.data, CONFIG_TRANSACTION)) {
    throw new Error(`${account.address} is no change of a Squads multisig.`);
  }
  return account.data;
}

const headDecoder = getStructDecoder([
  ['multisig', getAddressDecoder()],
  ['creator', getAddressDecoder()],
  ['index', getU64Decoder()],
  ['bump', getU8Decoder()],
  ['changeCount', getU32Decoder()],
]);

/** The program’s own numbers for what it may change. */
const [ADD_MEMBER, REMOVE_MEMBER] = [0, 1];

function changesIn(bytes: ReadonlyUint8Array): MemberChange[] {
  const [{ changeCount }, start] = headDecoder.read(bytes, DISCRIMINATOR_BYTES);
  const changes: MemberChange[] = [];
  let at = start;
  while (changes.length < changeCount) {
    const [number, next] = getU8Decoder().read(bytes, at);
    if (number !== ADD_MEMBER && number !== REMOVE_MEMBER) return [...changes, { kind: 'other', number }];
    const [member, behind] = getAddressDecoder().read(bytes, next);
    if (number === REMOVE_MEMBER) {
      changes.push({ kind: 'remove', member });
      at = behind;
      continue;
    }
    const [permissions, end] = getU8Decoder().read(bytes, behind);
    changes.push({ kind: 'add', member, permissions });
    at = end;
  }
  return changes;
}
