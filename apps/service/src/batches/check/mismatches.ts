import {
  batchTransactionAddress,
  decodeVaultBatchTransaction,
  transactionAddress,
  vaultTransactionMatches,
} from '@flywheel/squads';
import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import type { DecisiveCommitment } from '../../solana/floor.ts';
import { readNonces } from '../../solana/nonces.ts';
import { isRotation } from '../../squads/rotation.ts';
import type { Deps } from '../deps.ts';

/**
 * Finds the position of the first pipeline whose on-chain bytes differ from the compiled ones; null if all match. `unseen`
 * if none differs but an account is missing: the node may be behind, so that this decides nothing.
 */
export async function findMismatchedPipeline(
  { chain }: { readonly chain: Pick<Deps['chain'], 'accounts'> },
  multisig: Multisig,
  batch: Batch,
  commitment: DecisiveCommitment = 'confirmed',
): Promise<number | 'unseen' | null> {
  const { batchIndex, pipelines } = batch;
  if (batch.kind === 'rotation') {
    const [account] = await chain.accounts([transactionAddress(multisig.address, batchIndex)], { commitment });
    if (!account) return 'unseen';
    return isRotation(account, batch, multisig) ? null : 0;
  }
  const addresses = pipelines.map((_, position) => batchTransactionAddress(multisig.address, batchIndex, position));
  const accounts = await chain.accounts(addresses, { commitment });
  const position = pipelines.findIndex(({ vaultMessage }, i) => {
    const account = accounts[i];
    return account && !vaultTransactionMatches(decodeVaultBatchTransaction(account), vaultMessage);
  });
  if (position !== -1) return position;
  return accounts.includes(null) ? 'unseen' : null;
}

/** Describes the result of `findMismatchedPipeline` in a sentence. */
export function describeMismatch(position: number, { batchIndex }: Pick<Batch, 'batchIndex'>): string {
  return `pipelines[${position}] is not what the chain holds at index ${batchIndex}.`;
}

/** Explains why a signed approval is void if its nonce has another value on chain by now; null if the values match. */
export async function findNonceMismatch(
  { chain }: Pick<Deps, 'chain'>,
  { operator }: Multisig,
  { nonce }: Pick<Batch, 'nonce'>,
): Promise<string | null> {
  const values = await readNonces(chain, operator, [nonce.address], 'confirmed');
  return values.get(nonce.address) === nonce.value
    ? null
    : 'its nonce has advanced, so it can never land. Get the rebuilt approval with ?include=approval and sign it.';
}
