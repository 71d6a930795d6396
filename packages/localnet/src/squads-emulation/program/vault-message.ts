import {
  type Address,
  addCodecSizePrefix,
  type Codec,
  getAddressCodec,
  getBytesCodec,
  getStructCodec,
  getU8Codec,
  getU16Codec,
  getU32Codec,
  type NumberCodec,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { listCodec } from './borsh.ts';
import { check } from './errors.ts';

/** The transaction that a batch stores for its vault: Solana's message layout with its own length prefixes. */
export interface VaultMessage {
  readonly signerCount: number;
  readonly writableSignerCount: number;
  readonly writableNonSignerCount: number;
  /** Writable signers, readonly signers, writable non-signers, readonly non-signers. */
  readonly accountKeys: Address[];
  readonly instructions: {
    readonly programIndex: number;
    readonly accountIndexes: number[];
    readonly data: ReadonlyUint8Array;
  }[];
  readonly lookups: {
    readonly table: Address;
    readonly writableIndexes: number[];
    readonly readonlyIndexes: number[];
  }[];
}

/** As an instruction's argument carries it: lengths in one byte, those of instruction data in two. */
export const vaultMessageArgumentCodec: Codec<VaultMessage> = vaultMessageCodec(getU8Codec(), getU16Codec());

/** As the account stores it: lengths in four bytes. */
export const vaultMessageAccountCodec: Codec<VaultMessage> = vaultMessageCodec(getU32Codec(), getU32Codec());

/** How many accounts the message speaks of, those loaded from lookup tables included. */
export function accountCount(message: VaultMessage): number {
  const loaded = message.lookups.map((lookup) => lookup.writableIndexes.length + lookup.readonlyIndexes.length);
  return loaded.reduce((sum, count) => sum + count, message.accountKeys.length);
}

export function isSignerIndex(message: VaultMessage, index: number): boolean {
  return index < message.signerCount;
}

/** Whether the message asks for a static account as writable; false for every account of a lookup table. */
export function isStaticWritableIndex(message: VaultMessage, index: number): boolean {
  if (index >= message.accountKeys.length) return false;
  if (index < message.writableSignerCount) return true;
  return index >= message.signerCount && index - message.signerCount < message.writableNonSignerCount;
}

/** Refuses a message whose counts or indexes point outside of its accounts, as adding it to a batch does. */
export function checkVaultMessage(message: VaultMessage): void {
  const accounts = accountCount(message);
  const nonSignerCount = message.accountKeys.length - message.signerCount;
  check(nonSignerCount >= 0, 'InvalidTransactionMessage');
  check(message.writableSignerCount <= message.signerCount, 'InvalidTransactionMessage');
  check(message.writableNonSignerCount <= nonSignerCount, 'InvalidTransactionMessage');
  for (const { programIndex, accountIndexes } of message.instructions) {
    check(programIndex < accounts, 'InvalidTransactionMessage');
    check(
      accountIndexes.every((index) => index < accounts),
      'InvalidTransactionMessage',
    );
  }
}

function vaultMessageCodec(length: NumberCodec, dataLength: NumberCodec): Codec<VaultMessage> {
  const indexes = listCodec(getU8Codec(), length);
  const instruction = getStructCodec([
    ['programIndex', getU8Codec()],
    ['accountIndexes', indexes],
    ['data', addCodecSizePrefix(getBytesCodec(), dataLength)],
  ]);
  const lookup = getStructCodec([
    ['table', getAddressCodec()],
    ['writableIndexes', indexes],
    ['readonlyIndexes', indexes],
  ]);
  return getStructCodec([
    ['signerCount', getU8Codec()],
    ['writableSignerCount', getU8Codec()],
    ['writableNonSignerCount', getU8Codec()],
    ['accountKeys', listCodec(getAddressCodec(), length)],
    ['instructions', listCodec(instruction, length)],
    ['lookups', listCodec(lookup, length)],
  ]);
}
