import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MEMO_PROGRAM_ADDRESS, messageOf } from '@flywheel/protocol';
import { createRpcTransport, RpcError, transactionErrorText } from '@flywheel/solana-rpc';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  fetchEncodedAccount,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  getUtf8Encoder,
  type Instruction,
  type KeyPairSigner,
  lamports,
  type Signature,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import { type Bank, BankError, createBank } from './bank.ts';

type Rpc = ReturnType<typeof createSolanaRpcFromTransport>;

/** A tenth of the slot time on mainnet. */
const POLL_INTERVAL_MS = 40;
/** A cluster may drop a transaction that its leader did not include; sending it again has no other effect. */
const RESEND_INTERVAL_MS = 2_000;

/**
 * Creates a bank on a cluster that runs elsewhere, for example a validator. All that it does is a transaction of the wallet,
 * which is confirmed when a call returns.
 */
export function createRpcBank(rpcUrl: string, wallet: KeyPairSigner): Bank {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }));
  return createBank(wallet, {
    land: (instructions) => land(rpc, wallet, instructions),
    minimumBalance: (bytes) => rpc.getMinimumBalanceForRentExemption(bytes).send(),
    programOf: async (address) => {
      const account = await fetchEncodedAccount(rpc, address, { commitment: 'confirmed' });
      return account.exists ? account.programAddress : null;
    },
  });
}

/**
 * Asks the cluster's faucet for lamports and waits until they are confirmed.
 * @throws BankError if the faucet refuses, as public clusters do beyond their limits and mainnet always does.
 */
export async function requestAirdrop(rpcUrl: string, recipient: Address, amountLamports: bigint): Promise<void> {
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }));
  const signature = await rpc
    .requestAirdrop(recipient, lamports(amountLamports), { commitment: 'confirmed' })
    .send()
    .catch((cause: unknown) => {
      const reason = messageOf(cause);
      throw new BankError(`The faucet gave no ${amountLamports} lamports: ${reason}`, { cause });
    });
  for (const deadline = Date.now() + FAUCET_MS; Date.now() < deadline; await sleep(POLL_INTERVAL_MS)) {
    if (await isConfirmed(rpc, signature)) return;
  }
  throw new BankError(`The faucet's transaction ${signature} was not confirmed within ${FAUCET_MS / 1_000} s.`);
}

/** About the life of a blockhash on mainnet. */
const FAUCET_MS = 60_000;

async function land(rpc: Rpc, wallet: KeyPairSigner, instructions: readonly Instruction[]): Promise<Signature> {
  const { value: lifetime } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
  const message = setTransactionMessageLifetimeUsingBlockhash(
    lifetime,
    setTransactionMessageFeePayerSigner(wallet, createTransactionMessage({ version: 0 })),
  );
  const transaction = await signTransactionMessageWithSigners(
    appendTransactionMessageInstructions([...instructions, uniqueMemo()], message),
  );
  const [wire, signature] = [getBase64EncodedWireTransaction(transaction), getSignatureFromTransaction(transaction)];
  for (let isFirst = true; ; isFirst = false) {
    await send(rpc, wire, isFirst);
    for (const deadline = Date.now() + RESEND_INTERVAL_MS; Date.now() < deadline; await sleep(POLL_INTERVAL_MS)) {
      if (await isConfirmed(rpc, signature)) return signature;
    }
    const height = await rpc.getBlockHeight({ commitment: 'confirmed' }).send();
    if (height <= lifetime.lastValidBlockHeight) continue;
    // The height was read after the status, so that a landing in between is not taken for an expiry.
    if (await isConfirmed(rpc, signature)) return signature;
    throw new BankError(`Transaction ${signature} expired before it landed.`);
  }
}

/** Makes equal requests within one blockhash different transactions. */
function uniqueMemo(): Instruction {
  const data = new Uint8Array(getUtf8Encoder().encode(randomBytes(8).toString('hex')));
  return { programAddress: MEMO_PROGRAM_ADDRESS, data };
}

/** The first sending is checked by the node; a later one may be of a transaction that has landed. */
async function send(rpc: Rpc, wire: Base64EncodedWireTransaction, isFirst: boolean): Promise<void> {
  try {
    await rpc
      .sendTransaction(wire, { encoding: 'base64', preflightCommitment: 'confirmed', skipPreflight: !isFirst })
      .send();
  } catch (cause) {
    if (!(cause instanceof RpcError && cause.reason === 'node-error')) throw cause;
    throw new BankError(`The cluster rejected the bank's transaction: ${cause.message}`, { cause });
  }
}

/** @throws BankError if the transaction landed and failed */
async function isConfirmed(rpc: Rpc, signature: Signature): Promise<boolean> {
  const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
  if (status?.err) throw new BankError(`Transaction ${signature} failed: ${transactionErrorText(status.err)}`);
  return status?.confirmationStatus === 'confirmed' || status?.confirmationStatus === 'finalized';
}
