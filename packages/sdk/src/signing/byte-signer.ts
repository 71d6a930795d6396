import {
  address,
  getPublicKeyFromAddress,
  type ReadonlyUint8Array,
  signatureBytes,
  type TransactionPartialSigner,
  verifySignature,
} from '@solana/kit';
import { refusal } from './decode-transaction.ts';

/** Signs bytes with Ed25519, unhashed, by a key that never leaves where it is: 64 bytes. */
export type SignBytes = (message: ReadonlyUint8Array) => Promise<Uint8Array>;

/**
 * A signer from whatever can sign bytes for an address: a cloud’s key service, an HSM, another process. Every signature
 * is verified before it is used, so that a wrong key is found here and not by the service.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` when what comes back is no signature of the address.
 *
 * @example
 * const wallet = byteSigner(walletAddress, async (message) => {
 *   const { Signature } = await kms.send(new SignCommand({ KeyId, Message: message, MessageType: 'RAW', SigningAlgorithm }));
 *   return Signature;
 * });
 */
export function byteSigner(walletAddress: string, signBytes: SignBytes): TransactionPartialSigner {
  const signer = address(walletAddress);
  return {
    address: signer,
    signTransactions: async (transactions) => {
      const publicKey = await getPublicKeyFromAddress(signer);
      return Promise.all(
        transactions.map(async ({ messageBytes }) => {
          const signed = await signBytes(messageBytes);
          if (signed.length !== SIGNATURE_BYTES) {
            throw refusal(`${signed.length} bytes came back for ${signer}; a signature has ${SIGNATURE_BYTES}.`);
          }
          const signature = signatureBytes(signed);
          if (!(await verifySignature(publicKey, signature, messageBytes))) {
            throw refusal(`what came back is no signature of ${signer}: it may be of another key, or of a hash.`);
          }
          return { [signer]: signature };
        }),
      );
    },
  };
}

const SIGNATURE_BYTES = 64;
