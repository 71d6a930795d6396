import { type Address, address } from '@solana/kit';
import {
  type BatchTransaction,
  decodeBatch,
  decodeBatchTransaction,
  decodeLookupTable,
  decodeMultisig,
  decodeProposal,
} from './accounts.ts';
import { batchAddress, batchTransactionAddress, proposalAddress } from './addresses.ts';
import type { PlainInstruction } from './instructions.ts';
import { readAccounts } from './read-accounts.ts';

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
  readonly instructions: readonly PlainInstruction[];
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
      program: at(programIndex),
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
