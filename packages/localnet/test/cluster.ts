import type { TestContext } from 'node:test';
import {
  type AddressesByLookupTableAddress,
  appendTransactionMessageInstructions,
  type Blockhash,
  type Commitment,
  compressTransactionMessageUsingAddressLookupTables,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  isSolanaError,
  type KeyPairSigner,
  pipe,
  type Rpc,
  type Signature,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  type SolanaRpcApi,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { type Localnet, type LocalnetOptions, startLocalnet } from '../src/index.ts';

export const SOL = 1_000_000_000n;

/** A cluster for one test, whose slots pass only on request. */
export interface Cluster {
  readonly localnet: Localnet;
  readonly rpc: Rpc<SolanaRpcApi>;
  wallet(balanceLamports?: bigint): Promise<KeyPairSigner>;
  balance(address: KeyPairSigner['address']): Promise<bigint>;
  sign(payer: KeyPairSigner, instructions: readonly Instruction[], options?: SignOptions): Promise<SignedTransaction>;
  send(payer: KeyPairSigner, instructions: readonly Instruction[], options?: SignOptions): Promise<Signature>;
  submit(wire: SignedTransaction['wire'], options?: { readonly skipPreflight?: boolean }): Promise<Signature>;
  /** Calls a method that is not in kit's API. */
  call(method: string, params?: readonly unknown[], path?: string): Promise<JsonRpcAnswer>;
}

export interface SignOptions {
  readonly blockhash?: Blockhash;
  readonly commitment?: Commitment;
  readonly tables?: AddressesByLookupTableAddress;
}

export interface SignedTransaction {
  readonly wire: ReturnType<typeof getBase64EncodedWireTransaction>;
  readonly signature: Signature;
}

export interface JsonRpcAnswer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export async function startCluster(t: TestContext, options: LocalnetOptions = {}): Promise<Cluster> {
  const localnet = await startLocalnet({
    squadsProgram: process.env.FLYWHEEL_SQUADS_PROGRAM ?? 'emulation',
    slotMs: 0,
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  t.after(() => localnet.stop());
  return useCluster(localnet);
}

export function useCluster(localnet: Localnet): Cluster {
  const rpc = createSolanaRpc(localnet.url);
  const sign: Cluster['sign'] = async (payer, instructions, { blockhash, commitment = 'confirmed', tables } = {}) => {
    const { value } = await rpc.getLatestBlockhash({ commitment }).send();
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(payer, empty),
      (paid) =>
        setTransactionMessageLifetimeUsingBlockhash({ ...value, blockhash: blockhash ?? value.blockhash }, paid),
      (timed) => appendTransactionMessageInstructions(instructions, timed),
    );
    const transaction = await signTransactionMessageWithSigners(
      tables ? compressTransactionMessageUsingAddressLookupTables(message, tables) : message,
    );
    return { wire: getBase64EncodedWireTransaction(transaction), signature: getSignatureFromTransaction(transaction) };
  };
  const submit: Cluster['submit'] = (wire, { skipPreflight = false } = {}) =>
    rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight, preflightCommitment: 'processed' }).send();
  return {
    localnet,
    rpc,
    sign,
    submit,
    wallet: async (balanceLamports = 10n * SOL) => {
      const signer = await generateKeyPairSigner();
      if (balanceLamports > 0n) await localnet.bank.airdrop(signer.address, balanceLamports);
      return signer;
    },
    balance: async (address) => (await rpc.getBalance(address, { commitment: 'processed' }).send()).value,
    send: async (payer, instructions, options) => submit((await sign(payer, instructions, options)).wire),
    call: async (method, params = [], path = '/') => {
      const response = await fetch(`${localnet.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      return (await response.json()) as JsonRpcAnswer; // asserted on by the tests
    },
  };
}

/** Returns the TransactionError of a failed preflight; throws any other error. */
export async function preflightError(sending: Promise<unknown>): Promise<unknown> {
  try {
    await sending;
  } catch (error) {
    if (!isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE)) throw error;
    const { cause } = error;
    return isSolanaError(cause) ? cause.message : cause;
  }
  throw new Error('The transaction was accepted.');
}
