import {
  batchBytes,
  configTransactionBytes,
  decodeConfigActions,
  decodeVaultMessage,
  proposalBytes,
  vaultBatchTransactionBytes,
} from '@flywheel/squads';
import type { ReadonlyUint8Array } from '@solana/kit';

/** Sizes in bytes of the accounts that a batch takes on chain: the batch, its proposal, one for each vault message. */
export function batchAccountSizes(vaultMessages: readonly ReadonlyUint8Array[]): number[] {
  const messages = vaultMessages.map((bytes) => vaultBatchTransactionBytes(decodeVaultMessage(bytes)));
  return [batchBytes(), proposalBytes(MEMBER_COUNT), ...messages];
}

/** Sizes in bytes of the accounts that a rotation takes on chain: its config transaction and its proposal. */
export function rotationAccountSizes(actions: ReadonlyUint8Array): number[] {
  return [configTransactionBytes(decodeConfigActions(actions)), proposalBytes(MEMBER_COUNT)];
}

/** Operator, company and wallet: `registration.ts` gives a multisig no other members. */
const MEMBER_COUNT = 3;
