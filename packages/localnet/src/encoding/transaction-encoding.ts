import { encodeBase58 } from '@flywheel/protocol';
import { UNSUPPORTED_TRANSACTION_VERSION } from '@flywheel/solana-rpc';
import { type Address, getBase58Encoder } from '@solana/kit';
import type { TransactionRecord } from '../ledger/store/transaction-record.ts';
import type { RpcInnerInstructions, TransactionMeta } from '../ledger/transaction-meta.ts';
import { CallError } from '../rpc/call-error.ts';
import { isStaticWritable, parseWireTransaction, type WireTransaction } from '../wire/wire-transaction.ts';
import { isMemoProgram, parseInstruction, readMemo } from './instruction-parsing.ts';

/** Stack height of an instruction of the transaction itself; called ones add one per level. */
const OUTER_STACK_HEIGHT = 1;

export type TransactionEncoding = 'json' | 'jsonParsed' | 'base58' | 'base64';

/**
 * Encodes a transaction for getTransaction.
 * @throws CallError if its version is above the caller's maximum.
 */
export function encodeTransaction(record: TransactionRecord, encoding: TransactionEncoding, maxVersion: bigint | null) {
  const wire = parseKnown(record, maxVersion);
  return {
    slot: record.slot,
    blockTime: record.blockTime,
    ...(maxVersion !== null && { version: wire.version }),
    transaction: encodeContent(wire, record, encoding),
    meta: encoding === 'jsonParsed' ? parsedMeta(wire, record.meta) : record.meta,
  };
}

/** Encodes a transaction for getBlock with `transactionDetails: "accounts"`. @throws as `encodeTransaction`. */
export function encodeAccounts(record: TransactionRecord, maxVersion: bigint | null) {
  const wire = parseKnown(record, maxVersion);
  const { err, status, fee, preBalances, postBalances, preTokenBalances, postTokenBalances } = record.meta;
  return {
    ...(maxVersion !== null && { version: wire.version }),
    transaction: { signatures: encodeSignatures(wire), accountKeys: parsedMessage(wire, record.meta).accountKeys },
    meta: { err, status, fee, preBalances, postBalances, preTokenBalances, postTokenBalances },
  };
}

/**
 * Formats a transaction's memos for getSignaturesForAddress: each with its length in bytes, without those of called
 * programs, like a validator (transaction-status, extract_memos.rs). null if there are none.
 */
export function memosOf(record: Pick<TransactionRecord, 'wire'>): string | null {
  const { staticAddresses, instructions } = parseWireTransaction(record.wire);
  const memos = instructions.flatMap(({ programAddressIndex, data }) =>
    isMemoProgram(staticAddresses[programAddressIndex])
      ? [`[${data.length}] ${readMemo(new Uint8Array(data)) ?? '(unparseable)'}`]
      : [],
  );
  return memos.length === 0 ? null : memos.join('; ');
}

function parseKnown(record: TransactionRecord, maxVersion: bigint | null): WireTransaction {
  const wire = parseWireTransaction(record.wire);
  if (wire.version === 'legacy' || (maxVersion !== null && BigInt(wire.version) <= maxVersion)) return wire;
  throw new CallError(
    UNSUPPORTED_TRANSACTION_VERSION,
    `Transaction version (${wire.version}) is not supported by the requesting client. ` +
      `Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${wire.version}`,
  );
}

function encodeContent(wire: WireTransaction, { meta }: TransactionRecord, encoding: TransactionEncoding) {
  switch (encoding) {
    case 'base58':
      return [encodeBase58(wire.bytes), 'base58'];
    case 'base64':
      return [Buffer.from(wire.bytes).toString('base64'), 'base64'];
    case 'json':
      return { signatures: encodeSignatures(wire), message: jsonMessage(wire) };
    case 'jsonParsed':
      return { signatures: encodeSignatures(wire), message: parsedMessage(wire, meta) };
    default:
      return encoding satisfies never;
  }
}

function encodeSignatures({ signatures }: WireTransaction): string[] {
  return signatures.map((signature) => encodeBase58(signature ?? new Uint8Array(64)));
}

function jsonMessage(wire: WireTransaction) {
  return {
    accountKeys: wire.staticAddresses,
    header: {
      numRequiredSignatures: wire.header.numSignerAccounts,
      numReadonlySignedAccounts: wire.header.numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: wire.header.numReadonlyNonSignerAccounts,
    },
    recentBlockhash: wire.lifetimeToken,
    instructions: wire.instructions.map(({ programAddressIndex, accountIndices, data }) => ({
      programIdIndex: programAddressIndex,
      accounts: accountIndices,
      data: encodeBase58(data),
      stackHeight: OUTER_STACK_HEIGHT,
    })),
    ...addressTableLookups(wire),
    ...transactionConfig(wire),
  };
}

function addressTableLookups({ version, lookups }: WireTransaction) {
  if (version !== 0) return {};
  return {
    addressTableLookups: lookups.map(({ lookupTableAddress, writableIndexes, readonlyIndexes }) => ({
      accountKey: lookupTableAddress,
      writableIndexes,
      readonlyIndexes,
    })),
  };
}

/** Limits of version 1; older formats have them in instructions. */
function transactionConfig({ config }: WireTransaction) {
  if (config === null) return {};
  return {
    transactionConfig: {
      computeUnitLimit: config.computeUnitLimit,
      heapSize: config.heapBytes,
      loadedAccountsDataSizeLimit: config.loadedBytesLimit,
      priorityFee: config.priorityFeeLamports,
    },
  };
}

function parsedMessage(wire: WireTransaction, { loadedAddresses }: TransactionMeta) {
  const addresses = allAddresses(wire, loadedAddresses);
  const fromTable = (writable: boolean) => (pubkey: Address) => ({
    pubkey,
    signer: false,
    writable,
    source: 'lookupTable',
  });
  return {
    accountKeys: [
      ...wire.staticAddresses.map((pubkey, index) => ({
        pubkey,
        signer: index < wire.header.numSignerAccounts,
        writable: isStaticWritable(wire.header, wire.staticAddresses.length, index),
        source: 'transaction',
      })),
      ...loadedAddresses.writable.map(fromTable(true)),
      ...loadedAddresses.readonly.map(fromTable(false)),
    ],
    recentBlockhash: wire.lifetimeToken,
    instructions: wire.instructions.map(({ programAddressIndex, accountIndices, data }) =>
      readableInstruction(addresses, {
        programIdIndex: programAddressIndex,
        accounts: accountIndices,
        data: encodeBase58(data),
        stackHeight: OUTER_STACK_HEIGHT,
      }),
    ),
    ...addressTableLookups(wire),
    ...transactionConfig(wire),
  };
}

function parsedMeta(wire: WireTransaction, meta: TransactionMeta) {
  const { loadedAddresses, ...rest } = meta;
  const addresses = allAddresses(wire, loadedAddresses);
  return { ...rest, innerInstructions: meta.innerInstructions.map((inner) => parseInner(addresses, inner)) };
}

/** Encodes called instructions with the programs that validators parse. */
export function parseInner(addresses: readonly Address[], { index, instructions }: RpcInnerInstructions) {
  return { index, instructions: instructions.map((instruction) => readableInstruction(addresses, instruction)) };
}

/** Encodes an instruction: parsed if validators parse its program, otherwise in their unparsed form. */
function readableInstruction(
  addresses: readonly Address[],
  { programIdIndex, accounts: indices, data, stackHeight }: RpcInnerInstructions['instructions'][number],
) {
  const programId = addresses[programIdIndex];
  const accounts = indices.flatMap((index) => addresses[index] ?? []);
  const parsed = programId && parseInstruction(programId, accounts, new Uint8Array(getBase58Encoder().encode(data)));
  return parsed ? { ...parsed, stackHeight } : { programId, accounts, data, stackHeight };
}

function allAddresses(wire: WireTransaction, loaded: TransactionMeta['loadedAddresses']): Address[] {
  return [...wire.staticAddresses, ...loaded.writable, ...loaded.readonly];
}
