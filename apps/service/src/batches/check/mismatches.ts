import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { decodeVaultBatchTransaction, vaultTransactionMatches } from '../../squads/accounts.ts';
import { batchAddress, batchTransactionAddress } from '../../squads/addresses.ts';
import { isRotation } from '../../squads/rotation/groups.ts';
import type { Deps } from '../deps.ts';

/** The first pipeline of a batch that was set up which the chain holds otherwise than it was compiled, or null. */
export async function findMismatchedPipeline(
  { chain }: Pick<Deps, 'chain'>,
  multisig: Multisig,
  batch: Batch,
): Promise<number | null> {
  const { batchIndex, pipelines } = batch;
  if (batch.kind === 'rotation') {
    const [account] = await chain.accounts([await batchAddress(multisig.address, batchIndex)]);
    return account && isRotation(account, batch, multisig) ? null : 0;
  }
  const addresses = await Promise.all(
    pipelines.map((_, position) => batchTransactionAddress(multisig.address, batchIndex, position)),
  );
  const accounts = await chain.accounts(addresses);
  const position = pipelines.findIndex(({ vaultMessage }, i) => {
    const account = accounts[i];
    return !account || !vaultTransactionMatches(decodeVaultBatchTransaction(account), vaultMessage);
  });
  return position === -1 ? null : position;
}

/** The sentence about one. */
export function describeMismatch(position: number, { batchIndex }: Pick<Batch, 'batchIndex'>): string {
  return `pipelines[${position}] is not what the chain holds at index ${batchIndex}.`;
}
