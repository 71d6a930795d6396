import {
  type AddressesByLookupTableAddress,
  appendTransactionMessageInstructions,
  type Blockhash,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type V1TransactionConfig,
} from '@solana/kit';

export const VERSIONS = ['legacy', 0, 1] as const;
export type Version = (typeof VERSIONS)[number];

/** Values for every setting that version 1 has. */
export const V1_CONFIG: V1TransactionConfig = {
  computeUnitLimit: 400_000,
  heapSize: 65_536,
  loadedAccountsDataSizeLimit: 1_000_000,
  priorityFeeLamports: 5n,
};

export interface WireOptions {
  readonly version: Version;
  /** Base58 of any 32 bytes. */
  readonly blockhash: string;
  /** Version 0 only. */
  readonly tables?: AddressesByLookupTableAddress;
  /** Version 1 only. */
  readonly config?: V1TransactionConfig;
}

/** Signs a transaction as kit does. @returns its wire bytes. */
export async function signedWire(
  payer: KeyPairSigner,
  instructions: readonly Instruction[],
  { version, blockhash, tables = {}, config = {} }: WireOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n }; // a test may want any bytes
  const messages = {
    legacy: () =>
      pipe(
        createTransactionMessage({ version: 'legacy' }),
        (empty) => setTransactionMessageFeePayerSigner(payer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
        (timed) => appendTransactionMessageInstructions(instructions, timed),
      ),
    0: () =>
      pipe(
        createTransactionMessage({ version: 0 }),
        (empty) => setTransactionMessageFeePayerSigner(payer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
        (timed) => appendTransactionMessageInstructions(instructions, timed),
        (whole) => compressTransactionMessageUsingAddressLookupTables(whole, tables),
      ),
    1: () =>
      pipe(
        createTransactionMessage({ version: 1 }),
        (empty) => setTransactionMessageFeePayerSigner(payer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
        (timed) => setTransactionMessageConfig(config, timed),
        (limited) => appendTransactionMessageInstructions(instructions, limited),
      ),
  };
  const transaction = await signTransactionMessageWithSigners(messages[version]());
  return new Uint8Array(getTransactionEncoder().encode(transaction));
}
