import type { Base64EncodedWireTransaction } from '@solana/kit';
import { waitUntil } from './batches.ts';
import { send } from './client.ts';
import { signWith, type TestProject } from './project.ts';
import type { World } from './world.ts';

type Owner = Pick<TestProject, 'apiKey' | 'wallet'>;

/** Casts the wallet's cancel vote, without which the accounts of an approved proposal cannot be closed. */
export async function cancelAsWallet(
  world: Pick<World, 'url' | 'rpc'>,
  project: Owner,
  batchId: string,
): Promise<void> {
  const cancelTx = await cancel(world, project, batchId);
  if (cancelTx === undefined) return;
  const signed = (await signWith(project.wallet, cancelTx)) as Base64EncodedWireTransaction; // what signWith encodes
  const signature = await world.rpc.sendTransaction(signed, { encoding: 'base64' }).send();
  await waitUntil(
    `the wallet’s cancel of ${batchId} to be confirmed`,
    async () => (await world.rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus,
    (status) => status === 'confirmed' || status === 'finalized',
  );
  // A repeated cancellation checks the batch at once.
  await cancel(world, project, batchId);
}

/** Cancels a batch without waiting for its end. @returns the transaction that the wallet has still to sign, if there is one. */
export async function cancel(
  { url }: Pick<World, 'url'>,
  { apiKey }: Pick<Owner, 'apiKey'>,
  batchId: string,
): Promise<string | undefined> {
  const path = `/v1/flywheel/batch/${batchId}/cancel`;
  const headers = { prefer: 'wait=0' };
  const { status, body } = await send(url, 'POST', path, { key: apiKey, headers, body: {} });
  if (status !== 200 && status !== 202) throw new Error(`Cancel answered ${status}: ${JSON.stringify(body)}`);
  return body.cancelTx;
}
