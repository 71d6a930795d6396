import {
  batchBytes,
  configTransactionBytes,
  decodeConfigActions,
  proposalBytes,
  vaultBatchTransactionBytes,
} from '@flywheel/squads';
import type { ReadonlyUint8Array } from '@solana/kit';
import type { Batch } from '../model/batch.ts';
import { mapInSlices } from '../model/in-slices.ts';
import type { Multisig } from '../model/project.ts';
import { multisigMembers } from './registration.ts';

/** Sizes in bytes of the accounts that a batch of any kind takes on chain. */
export async function accountSizes(
  multisig: Multisig,
  { kind, pipelines }: Pick<Batch, 'kind' | 'pipelines'>,
): Promise<number[]> {
  const messages = pipelines.map(({ vaultMessage }) => vaultMessage);
  if (kind !== 'rotation') return batchAccountSizes(multisig, messages);
  return messages.flatMap((actions) => rotationAccountSizes(multisig, actions));
}

/** Sizes in bytes of the accounts that a batch takes on chain: the batch, its proposal, one for each vault message. */
async function batchAccountSizes(multisig: Multisig, vaultMessages: readonly ReadonlyUint8Array[]): Promise<number[]> {
  const messages = await mapInSlices(vaultMessages, (bytes) => vaultBatchTransactionBytes(bytes));
  return [batchBytes(), proposalBytes(multisigMembers(multisig).length), ...messages];
}

/** Sizes in bytes of the accounts that a rotation takes on chain: its config transaction and its proposal. */
function rotationAccountSizes(multisig: Multisig, actions: ReadonlyUint8Array): number[] {
  return [configTransactionBytes(decodeConfigActions(actions)), proposalBytes(multisigMembers(multisig).length)];
}
