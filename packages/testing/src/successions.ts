import { type KeySuccession, type PublishedSuccession, writeSuccessionText } from '@flywheel/protocol';
import { getBase58Decoder, type KeyPairSigner, signBytes } from '@solana/kit';

/** Has a key name its successor, as a worker does with the key before. */
export async function signSuccession(
  from: KeyPairSigner,
  { role, to, genesisHash }: Omit<KeySuccession, 'from'>,
): Promise<PublishedSuccession> {
  const text = writeSuccessionText({ role, from: from.address, to, genesisHash });
  const signature = await signBytes(from.keyPair.privateKey, new TextEncoder().encode(text));
  return { role, from: from.address, to, signature: getBase58Decoder().decode(signature) };
}
