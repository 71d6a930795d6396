import {
  batchBytes,
  configTransactionBytes,
  decodeConfigActions,
  decodeVaultMessage,
  proposalBytes,
  vaultBatchTransactionBytes,
} from '@flywheel/squads';
import type { ReadonlyUint8Array } from '@solana/kit';
import type { Multisig } from '../model/project.ts';
import { multisigMembers } from './registration.ts';

/** Sizes in bytes of the accounts that a batch takes on chain: the batch, its proposal, one for each vault message. */
export function batchAccountSizes(multisig: Multisig, vaultMessages: readonly ReadonlyUint8Array[]): number[] {
  const messages = vaultMessages.map((bytes) => vaultBatchTransactionBytes(decodeVaultMessage(bytes)));
  return [batchBytes(), proposalBytes(multisigMembers(multisig).length), ...messages];
}

/** Sizes in bytes of the accounts that a rotation takes on chain: its config transaction and its proposal. */
export function rotationAccountSizes(multisig: Multisig, actions: ReadonlyUint8Array): number[] {
  return [configTransactionBytes(decodeConfigActions(actions)), proposalBytes(multisigMembers(multisig).length)];
}
