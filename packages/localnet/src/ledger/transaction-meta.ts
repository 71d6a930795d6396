import { encodeBase58 } from '@flywheel/protocol';
import type { Address, MaybeEncodedAccount } from '@solana/kit';
import type { Execution, TransactionError } from '../runtime.ts';
import type { ListedAccount } from './account-list.ts';
import type { HeldAccount } from './svm-accounts.ts';
import { type TokenBalance, tokenBalances } from './token-balances.ts';

/** Meta of a transaction, in the shape of getTransaction. */
export interface TransactionMeta {
  readonly err: TransactionError | null;
  readonly status: { readonly Ok: null } | { readonly Err: TransactionError };
  readonly fee: bigint;
  readonly preBalances: readonly bigint[];
  readonly postBalances: readonly bigint[];
  readonly preTokenBalances: readonly TokenBalance[];
  readonly postTokenBalances: readonly TokenBalance[];
  readonly innerInstructions: readonly RpcInnerInstructions[];
  readonly logMessages: readonly string[];
  readonly loadedAddresses: { readonly writable: readonly Address[]; readonly readonly: readonly Address[] };
  readonly returnData?: RpcReturnData;
  readonly computeUnitsConsumed: bigint;
  /** Cost in a block; missing in records of earlier releases. */
  readonly costUnits?: bigint;
  readonly rewards: readonly never[];
}

export interface RpcInnerInstructions {
  readonly index: number;
  readonly instructions: readonly {
    readonly programIdIndex: number;
    readonly accounts: readonly number[];
    readonly data: string;
    readonly stackHeight: number;
  }[];
}

export interface RpcReturnData {
  readonly programId: Address;
  readonly data: readonly [string, 'base64'];
}

export interface Executed {
  readonly accounts: readonly ListedAccount[];
  /** States before and after, one for each of `accounts`. */
  readonly before: readonly HeldAccount[];
  readonly after: readonly HeldAccount[];
  readonly execution: Execution;
  readonly feeLamports: bigint;
  readonly costUnits: bigint;
}

/** Describes a transaction from its accounts before and after. `readMint` finds the decimals of tokens. */
export function transactionMeta(executed: Executed, readMint: (mint: Address) => MaybeEncodedAccount): TransactionMeta {
  const { accounts, before, after, execution, feeLamports } = executed;
  const returnData = rpcReturnData(execution);
  return {
    err: execution.err,
    status: execution.err === null ? { Ok: null } : { Err: execution.err },
    fee: feeLamports,
    preBalances: before.map(balance),
    postBalances: after.map(balance),
    preTokenBalances: tokenBalances(accounts, before, readMint),
    postTokenBalances: tokenBalances(accounts, after, readMint),
    innerInstructions: rpcInnerInstructions(execution),
    logMessages: execution.logs,
    loadedAddresses: addressesOfTables(accounts),
    ...(returnData && { returnData }),
    computeUnitsConsumed: execution.unitsConsumed,
    costUnits: executed.costUnits,
    rewards: [],
  };
}

/** Describes the balances of accounts before anything changed them. */
export function currentBalances(
  accounts: readonly ListedAccount[],
  states: readonly HeldAccount[],
  readMint: (mint: Address) => MaybeEncodedAccount,
) {
  const balances = states.map(balance);
  const tokens = tokenBalances(accounts, states, readMint);
  return { preBalances: balances, postBalances: balances, preTokenBalances: tokens, postTokenBalances: tokens };
}

/** Lists the addresses that lookup tables gave. */
export function addressesOfTables(accounts: readonly ListedAccount[]): TransactionMeta['loadedAddresses'] {
  const loaded = accounts.filter(({ source }) => source === 'lookupTable');
  return {
    writable: loaded.filter(({ writable }) => writable).map(({ address }) => address),
    readonly: loaded.filter(({ writable }) => !writable).map(({ address }) => address),
  };
}

export function rpcInnerInstructions(execution: Execution): RpcInnerInstructions[] {
  return execution.innerInstructions.map(({ index, instructions }) => ({
    index,
    instructions: instructions.map(({ data, ...rest }) => ({ ...rest, data: encodeBase58(data) })),
  }));
}

export function rpcReturnData({ returnData }: Execution): RpcReturnData | null {
  if (!returnData || returnData.data.length === 0) return null;
  return { programId: returnData.programId, data: [Buffer.from(returnData.data).toString('base64'), 'base64'] };
}

function balance({ account }: HeldAccount): bigint {
  return account?.lamports() ?? 0n;
}
