import { MAX_PIPELINES_PER_BATCH } from '@flywheel/api';
import type { DescribedInstruction } from '@flywheel/protocol';
import { address } from '@flywheel/protocol';
import {
  batchTransactionAddress,
  type ConfigAction,
  decodeBatch,
  decodeConfigTransaction,
  decodeMultisig,
  decodeProposal,
  decodeVaultBatchTransaction,
  type ProposalStatus,
  proposalAddress,
  transactionAddress,
  type VaultBatchTransactionAccount,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';
import {
  ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS,
  getAddressLookupTableDecoder,
} from '@solana-program/address-lookup-table';
import { type ChainAccount, readAccounts } from './rpc.ts';

/** The multisig and the proposal of a batch, as far as a verification needs them. */
export interface ProposalOnChain {
  readonly multisig: {
    /** The address that can change the multisig alone; the System program's address if there is none. */
    readonly configAuthority: Address;
    /** Votes that a proposal needs. */
    readonly threshold: number;
    /** `permissions` are Squads' bits: 1 initiates, 2 votes, 4 executes. */
    readonly members: readonly { readonly address: Address; readonly permissions: number }[];
    /** Seconds between the votes for a proposal and its execution. */
    readonly timeLock: number;
    /** Receives the rent of ended batches. */
    readonly rentCollector: Address | null;
    /** True if a change of the members or the settings was ever executed. It makes all earlier proposals stale. */
    readonly hasChanged: boolean;
  };
  readonly proposal: { readonly status: ProposalStatus['__kind'] };
}

export interface BatchOnChain extends ProposalOnChain {
  readonly vaultIndex: number;
  /** The message of each pipeline that the vault will sign. */
  readonly pipelines: readonly PipelineOnChain[];
}

export interface PipelineOnChain {
  readonly signers: readonly Address[];
  /** Keys that Squads itself would create and sign with. A batch of the service has none. */
  readonly ephemeralSignerCount: number;
  readonly instructions: readonly DescribedInstruction[];
}

interface ProposalId {
  readonly multisig: string;
  readonly batchIndex: string;
}

/**
 * Reads a complete batch from the chain: its multisig, its proposal, and every message that an approval allows the vault
 * to sign, with lookup tables resolved.
 * @throws NodeBehind if a part of it is missing; Error if it has more pipelines than a batch of the service may have.
 */
export async function readBatch(rpcUrl: string, id: ProposalId, signal?: AbortSignal): Promise<BatchOnChain> {
  const { transaction, ...onChain } = await readProposal(rpcUrl, id, signal);
  const { size, vaultIndex } = decodeBatch(required(transaction, 'batch'));
  if (size > MAX_PIPELINES_PER_BATCH) {
    throw new Error(`The node shows a batch of ${size} pipelines; none has more than ${MAX_PIPELINES_PER_BATCH}.`);
  }
  const [multisig, index] = [address(id.multisig), BigInt(id.batchIndex)];
  const addresses = Array.from({ length: size }, (_, position) => batchTransactionAddress(multisig, index, position));
  const transactions = (await readAccounts(rpcUrl, addresses, { signal })).map((account) =>
    decodeVaultBatchTransaction(required(account, 'batch transaction')),
  );
  const tables = await readTables(rpcUrl, transactions, signal);
  return { ...onChain, vaultIndex, pipelines: transactions.map((found) => resolve(found, tables)) };
}

/** A change of the multisig; `other` is every change that is not part of replacing a member. */
export type MemberChange =
  | { readonly kind: 'add'; readonly member: Address; readonly permissions: number }
  | { readonly kind: 'remove'; readonly member: Address }
  | { readonly kind: 'collectRent'; readonly collector: Address | null }
  | { readonly kind: 'other'; readonly name: string };

export interface RotationOnChain extends ProposalOnChain {
  /** Every change of the multisig that an approval allows, in order. */
  readonly changes: readonly MemberChange[];
}

/**
 * Reads from the chain what a proposal would change in its multisig.
 * @throws NodeBehind if a part of it is missing; Error if the proposal is not about a change of the multisig.
 */
export async function readRotation(rpcUrl: string, id: ProposalId, signal?: AbortSignal): Promise<RotationOnChain> {
  const { transaction, ...onChain } = await readProposal(rpcUrl, id, signal);
  const { actions } = decodeConfigTransaction(required(transaction, 'config transaction'));
  return { ...onChain, changes: actions.map(toChange) };
}

async function readProposal(
  rpcUrl: string,
  { multisig, batchIndex }: ProposalId,
  signal: AbortSignal | undefined,
): Promise<ProposalOnChain & { readonly transaction: ChainAccount | null | undefined }> {
  const [owner, index] = [address(multisig), BigInt(batchIndex)];
  const addresses = [owner, proposalAddress(owner, index), transactionAddress(owner, index)];
  const [multisigAccount, proposalAccount, transaction] = await readAccounts(rpcUrl, addresses, { signal });
  const { configAuthority, threshold, timeLock, members, rentCollector, staleTransactionIndex } = decodeMultisig(
    required(multisigAccount, 'multisig'),
  );
  const { status } = decodeProposal(required(proposalAccount, 'proposal'));
  return {
    multisig: {
      configAuthority,
      threshold,
      timeLock,
      members: members.map(({ key, permissions }) => ({ address: key, permissions: permissions.mask })),
      rentCollector,
      hasChanged: staleTransactionIndex > 0n,
    },
    proposal: { status: status.__kind },
    transaction,
  };
}

type Tables = ReadonlyMap<Address, readonly Address[]>;

async function readTables(
  rpcUrl: string,
  transactions: readonly VaultBatchTransactionAccount[],
  signal: AbortSignal | undefined,
): Promise<Tables> {
  const used = transactions.flatMap(({ message }) => message.addressTableLookups.map(({ accountKey }) => accountKey));
  const distinct = [...new Set(used)];
  const accounts = await readAccounts(rpcUrl, distinct, { signal });
  return new Map(distinct.map((table, i) => [table, decodeLookupTable(required(accounts[i], 'lookup table'))]));
}

/** The entries of a lookup table never change; an account of another program could. */
function decodeLookupTable({ address: table, programAddress, data }: ChainAccount): readonly Address[] {
  if (programAddress !== ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS) throw new Error(`${table} is not a lookup table.`);
  return getAddressLookupTableDecoder().decode(data).addresses;
}

function resolve({ message, ephemeralSignerBumps }: VaultBatchTransactionAccount, tables: Tables): PipelineOnChain {
  const { accountKeys, addressTableLookups, instructions, numSigners } = message;
  const loaded = (indices: (lookup: (typeof addressTableLookups)[number]) => ArrayLike<number>) =>
    addressTableLookups.flatMap((lookup) =>
      Array.from(indices(lookup), (index) => entryOf(tables, lookup.accountKey, index)),
    );
  const accounts = [
    ...accountKeys,
    ...loaded(({ writableIndexes }) => writableIndexes),
    ...loaded(({ readonlyIndexes }) => readonlyIndexes),
  ];
  const at = (index: number) => {
    const account = accounts[index];
    if (account === undefined) throw new Error(`A message on chain uses account ${index} of ${accounts.length}.`);
    return account;
  };
  return {
    signers: accountKeys.slice(0, numSigners),
    ephemeralSignerCount: ephemeralSignerBumps.length,
    instructions: instructions.map(({ programIdIndex, accountIndexes, data }) => ({
      programAddress: at(programIdIndex),
      accounts: Array.from(accountIndexes, at),
      data,
    })),
  };
}

function entryOf(tables: Tables, table: Address, index: number): Address {
  const entry = tables.get(table)?.[index];
  if (entry === undefined) throw new Error(`A message on chain uses entry ${index} of ${table}, which is empty.`);
  return entry;
}

/** Reads one change of a multisig as far as a replacement of a member uses it. */
export function toChange(action: ConfigAction): MemberChange {
  switch (action.__kind) {
    case 'AddMember':
      return { kind: 'add', member: action.newMember.key, permissions: action.newMember.permissions.mask };
    case 'RemoveMember':
      return { kind: 'remove', member: action.oldMember };
    case 'SetRentCollector':
      return { kind: 'collectRent', collector: action.newRentCollector };
    default:
      return { kind: 'other', name: action.__kind };
  }
}

function required(account: ChainAccount | null | undefined, kind: string): ChainAccount {
  if (!account) throw new NodeBehind(`no ${kind}`);
  return account;
}

/** The error of a node that lacks something of a batch which the service has seen on chain. */
export class NodeBehind extends Error {
  constructor(shown: string) {
    super(`The node shows ${shown}. It may be behind: retry in a minute, or name another node.`);
    this.name = 'NodeBehind';
  }
}
