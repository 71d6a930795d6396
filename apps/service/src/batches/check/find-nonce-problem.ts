import type { Batch } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import { readNonces } from '../../solana/nonces.ts';
import type { Deps } from '../deps.ts';

/** Why what the wallet signed is void, where the chain has moved the nonce that it is built on; else null. */
export async function findNonceMismatch(
  { chain }: Pick<Deps, 'chain'>,
  { operator }: Multisig,
  { nonce }: Pick<Batch, 'nonce'>,
): Promise<string | null> {
  const values = await readNonces(chain, operator, [nonce.address], 'confirmed');
  return values.get(nonce.address) === nonce.value
    ? null
    : 'the nonce it starts with has moved on; get the rebuilt one with ?include=approval and sign that.';
}
