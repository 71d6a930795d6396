import { address, SIGNATURE_BYTES } from '@flywheel/protocol';
import {
  assertIsTransactionWithinSizeLimit,
  getCompiledTransactionMessageDecoder,
  getPublicKeyFromAddress,
  getTransactionDecoder,
  getTransactionEncoder,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
  type ReadonlyUint8Array,
  signatureBytes,
  type TransactionModifyingSigner,
  type TransactionPartialSigner,
  verifySignature,
} from '@solana/kit';
import { signingRefused } from '../errors.ts';

/** Signs a message with Ed25519 and returns the 64 bytes of the signature. The message is not hashed before. */
export type SignBytes = (message: ReadonlyUint8Array) => Promise<Uint8Array>;

/**
 * Creates a signer from a function that signs bytes for an address, such as a cloud's KMS, an HSM or another
 * process. It verifies every signature, so that a wrong key is found before the service sees it.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` while signing, if the signature is not of the address.
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
            throw signingRefused(`the signer of ${signer} returned ${signed.length} bytes, not ${SIGNATURE_BYTES}.`);
          }
          const signature = signatureBytes(signed);
          if (!(await verifySignature(publicKey, signature, messageBytes))) {
            throw signingRefused(
              `the signature is not valid for ${signer}. The signer may use another key, or hash the message first.`,
            );
          }
          return { [signer]: signature };
        }),
      );
    },
  };
}

/** The part of a Wallet Standard wallet that is needed: any `Wallet` of @wallet-standard/base fits. */
export interface StandardWallet {
  readonly name: string;
  readonly features: { readonly [feature: string]: unknown };
}

/** A browser wallet, and the account and cluster for which it signs. */
export interface WalletStandardSignerOptions<Account extends { readonly address: string }> {
  readonly wallet: StandardWallet;
  /** An account of this wallet. */
  readonly account: Account;
  /** Name of the cluster, e.g. `solana:mainnet`. */
  readonly chain: `solana:${string}`;
}

/**
 * Creates a signer that asks a browser wallet. A wallet may add guard instructions to what it signs; the service accepts
 * them. The wallet signs and never sends.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if the wallet cannot sign transactions.
 *
 * @example
 * const [account] = wallet.accounts;
 * const signer = walletStandardSigner({ wallet, account, chain: 'solana:mainnet' });
 */
export function walletStandardSigner<Account extends { readonly address: string }>({
  wallet,
  account,
  chain,
}: WalletStandardSignerOptions<Account>): TransactionModifyingSigner {
  const feature = wallet.features[SIGN_TRANSACTION];
  if (!isSignTransactionFeature(feature)) throw signingRefused(`${wallet.name} has no feature ${SIGN_TRANSACTION}.`);
  return {
    address: address(account.address),
    modifyAndSignTransactions: async (transactions) => {
      const inputs = transactions.map((transaction) => new Uint8Array(getTransactionEncoder().encode(transaction)));
      const outputs = await feature.signTransaction(...inputs.map((transaction) => ({ account, transaction, chain })));
      if (outputs.length !== inputs.length) {
        throw signingRefused(`${wallet.name} signed ${outputs.length} of ${inputs.length} transactions.`);
      }
      return Promise.all(outputs.map(({ signedTransaction }) => decodeSigned(signedTransaction)));
    },
  };
}

const SIGN_TRANSACTION = 'solana:signTransaction';

interface SignTransactionFeature {
  signTransaction(
    ...inputs: readonly { readonly account: unknown; readonly transaction: Uint8Array; readonly chain: string }[]
  ): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
}

function isSignTransactionFeature(feature: unknown): feature is SignTransactionFeature {
  return (
    typeof feature === 'object' &&
    feature !== null &&
    'signTransaction' in feature &&
    typeof feature.signTransaction === 'function'
  );
}

async function decodeSigned(bytes: Uint8Array) {
  const transaction = getTransactionDecoder().decode(bytes);
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  const lifetimeConstraint = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message);
  const signed = { ...transaction, lifetimeConstraint };
  assertIsTransactionWithinSizeLimit(signed);
  return signed;
}
