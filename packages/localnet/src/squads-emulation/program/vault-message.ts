import type { VaultTransactionMessage } from '@flywheel/squads';
import { check } from './errors.ts';

/** Counts the accounts of the message, including those of lookup tables. */
export function accountCount({ accountKeys, addressTableLookups }: VaultTransactionMessage): number {
  const loaded = addressTableLookups.map((lookup) => lookup.writableIndexes.length + lookup.readonlyIndexes.length);
  return loaded.reduce((sum, count) => sum + count, accountKeys.length);
}

export function isSignerIndex(message: VaultTransactionMessage, index: number): boolean {
  return index < message.numSigners;
}

/** Returns true if the message makes a static account writable; false for accounts of lookup tables. */
export function isStaticWritableIndex(message: VaultTransactionMessage, index: number): boolean {
  if (index >= message.accountKeys.length) return false;
  if (index < message.numWritableSigners) return true;
  return index >= message.numSigners && index - message.numSigners < message.numWritableNonSigners;
}

/** Rejects a message whose counts or indexes exceed its accounts, as `batchAddTransaction` does. */
export function checkVaultMessage(message: VaultTransactionMessage): void {
  const accounts = accountCount(message);
  const nonSignerCount = message.accountKeys.length - message.numSigners;
  check(nonSignerCount >= 0, 'InvalidTransactionMessage');
  check(message.numWritableSigners <= message.numSigners, 'InvalidTransactionMessage');
  check(message.numWritableNonSigners <= nonSignerCount, 'InvalidTransactionMessage');
  for (const { programIdIndex, accountIndexes } of message.instructions) {
    check(programIdIndex < accounts, 'InvalidTransactionMessage');
    check(
      accountIndexes.every((index) => index < accounts),
      'InvalidTransactionMessage',
    );
  }
}
