import { createHash } from 'node:crypto';
import { encodeBase58, LAMPORTS_PER_SIGNATURE } from '@flywheel/protocol';
import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import { getNonceSize, NonceState, NonceVersion, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import type { LiteSVM } from 'litesvm';
import { isStaticWritable, type WireTransaction } from '../wire/wire-transaction.ts';
import type { Slots } from './slots.ts';
import { readAccount } from './svm-accounts.ts';

/** SystemInstruction::AdvanceNonceAccount, a little-endian u32. */
const ADVANCE_NONCE = [4, 0, 0, 0];
/**
 * Layout of a nonce account (solana-nonce): version u32, state u32, authority, nonce, lamports per signature u64. It is
 * read by hand because every transaction on a nonce needs it: the decoder of `@solana-program/system` took ten times as
 * long (100,000 accounts).
 */
const NONCE_BYTES = getNonceSize();
const AUTHORITY_OFFSET = 8;
const VALUE_OFFSET = 40;
const FEE_OFFSET = 72;

/** Limit of a transaction's lifetime: the age of its blockhash, or the advance of its durable nonce. */
export type Lifetime = { readonly kind: 'blockhash' } | { readonly kind: 'nonce'; readonly account: EncodedAccount };

/** Bank that executes a transaction: the SVM holds the accounts of its slot. */
export interface Bank {
  readonly svm: LiteSVM;
  readonly slots: Slots;
  readonly bankSlot: bigint;
}

/** Checks that a transaction is still valid; null means the cluster's BlockhashNotFound. */
export function checkLifetime(bank: Bank, transaction: WireTransaction): Lifetime | null {
  if (bank.slots.isRecent(transaction.lifetimeToken, bank.bankSlot)) return { kind: 'blockhash' };
  const account = usableNonce(bank, transaction);
  return account ? { kind: 'nonce', account } : null;
}

/**
 * Computes the nonce account after a failed transaction: its effects are undone, and the nonce has advanced all the
 * same.
 */
export function advancedNonce(bank: Pick<Bank, 'slots' | 'bankSlot'>, account: EncodedAccount): EncodedAccount {
  const bytes = new Uint8Array(account.data);
  bytes.set(nextNonce(bank), VALUE_OFFSET);
  new DataView(bytes.buffer).setBigUint64(FEE_OFFSET, LAMPORTS_PER_SIGNATURE, true);
  return { ...account, data: bytes };
}

function usableNonce(bank: Bank, transaction: WireTransaction): EncodedAccount | null {
  const account = findNonce((address) => readAccount(bank.svm, address), transaction);
  return account && transaction.lifetimeToken !== encodeBase58(nextNonce(bank)) ? account : null;
}

/** Finds the nonce account with the value of a transaction that advances it; null if there is none. */
export function findNonce(
  readNonce: (address: Address) => MaybeEncodedAccount,
  transaction: WireTransaction,
): EncodedAccount | null {
  const address = nonceAddress(transaction);
  if (!address) return null;
  const account = readNonce(address);
  if (!account.exists || account.programAddress !== SYSTEM_PROGRAM_ADDRESS || account.data.length !== NONCE_BYTES)
    return null;
  const bytes = new Uint8Array(account.data);
  const view = new DataView(bytes.buffer);
  if (view.getUint32(0, true) !== NonceVersion.Current || view.getUint32(4, true) !== NonceState.Initialized)
    return null;
  const value = encodeBase58(bytes.subarray(VALUE_OFFSET, FEE_OFFSET));
  const authority = encodeBase58(bytes.subarray(AUTHORITY_OFFSET, VALUE_OFFSET));
  const signers = transaction.staticAddresses.slice(0, transaction.header.numSignerAccounts);
  const advances = transaction.instructions[0]?.accountIndices.some((index) => signers[index] === authority);
  return value === transaction.lifetimeToken && advances ? account : null;
}

/** Finds the nonce account that the first instruction advances; null if it is another instruction. */
function nonceAddress({ instructions, staticAddresses, header }: WireTransaction): Address | null {
  const [first] = instructions;
  if (!first || staticAddresses[first.programAddressIndex] !== SYSTEM_PROGRAM_ADDRESS) return null;
  if (!ADVANCE_NONCE.every((byte, index) => first.data[index] === byte)) return null;
  const [index] = first.accountIndices;
  if (index === undefined || !isStaticWritable(header, staticAddresses.length, index)) return null;
  return staticAddresses[index] ?? null;
}

/** Computes the next value of a nonce (solana-nonce, DurableNonce::from_blockhash). */
function nextNonce({ slots, bankSlot }: Pick<Bank, 'slots' | 'bankSlot'>): Uint8Array {
  return createHash('sha256').update('DURABLE_NONCE').update(slots.visibleBlockhash(bankSlot)).digest();
}
