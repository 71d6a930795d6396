import {
  batchBytes,
  configTransactionBytes,
  decodeConfigActions,
  decodeVaultMessage,
  proposalBytes,
  vaultBatchTransactionBytes,
} from '@flywheel/squads';
import type { ReadonlyUint8Array } from '@solana/kit';
import type { Batch } from '../model/batch.ts';
import type { Multisig } from '../model/project.ts';
import { multisigMembers } from './registration.ts';

/** Bytes that the rent counts for every account in addition to its data (Agave, `ACCOUNT_STORAGE_OVERHEAD`). */
export const ACCOUNT_OVERHEAD_BYTES = 128n;

/** Sizes in bytes of the accounts that a batch of any kind takes on chain. */
export function accountSizes(multisig: Multisig, { kind, pipelines }: Pick<Batch, 'kind' | 'pipelines'>): number[] {
  const messages = pipelines.map(({ vaultMessage }) => vaultMessage);
  if (kind !== 'rotation') return batchAccountSizes(multisig, messages);
  return messages.flatMap((actions) => rotationAccountSizes(multisig, actions));
}

/** Sizes in bytes of the accounts that a batch takes on chain: the batch, its proposal, one for each vault message. */
function batchAccountSizes(multisig: Multisig, vaultMessages: readonly ReadonlyUint8Array[]): number[] {
  const messages = vaultMessages.map((bytes) => vaultBatchTransactionBytes(decodeVaultMessage(bytes)));
  return [batchBytes(), proposalBytes(multisigMembers(multisig).length), ...messages];
}

/** Sizes in bytes of the accounts that a rotation takes on chain: its config transaction and its proposal. */
function rotationAccountSizes(multisig: Multisig, actions: ReadonlyUint8Array): number[] {
  return [configTransactionBytes(decodeConfigActions(actions)), proposalBytes(multisigMembers(multisig).length)];
}
