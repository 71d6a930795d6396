import {
  type Address,
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
} from '@solana/kit';

export const VERSIONS = ['legacy', 0, 1] as const;

const V1_CONFIG = {
  computeUnitLimit: 400_000,
  heapSize: 65_536,
  loadedAccountsDataSizeLimit: 1_000_000,
  priorityFeeLamports: 5n,
};
/** Signs a transaction as kit does; in version 0 the first instruction's second account is in the table. */
export async function signedWire(
  version: (typeof VERSIONS)[number],
  payer: KeyPairSigner,
  instructions: readonly Instruction[],
  table: Address,
  blockhash: Blockhash,
): Promise<Uint8Array<ArrayBuffer>> {
  const lifetime = { blockhash, lastValidBlockHeight: 0n };
  const loaded = instructions[0]?.accounts?.[1]?.address ?? table;
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
        (whole) => compressTransactionMessageUsingAddressLookupTables(whole, { [table]: [loaded] }),
      ),
    1: () =>
      pipe(
        createTransactionMessage({ version: 1 }),
        (empty) => setTransactionMessageFeePayerSigner(payer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
        (timed) => setTransactionMessageConfig(V1_CONFIG, timed),
        (limited) => appendTransactionMessageInstructions(instructions, limited),
      ),
  };
  const transaction = await signTransactionMessageWithSigners(messages[version]());
  return new Uint8Array(getTransactionEncoder().encode(transaction));
}
