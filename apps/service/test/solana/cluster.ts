import { type Localnet, startLocalnet } from '@flywheel/localnet';
import { realClock } from '@flywheel/testing/clock';
import {
  appendTransactionMessageInstructions,
  createTransactionMessage,
  generateKeyPairSigner,
  type Instruction,
  type KeyPairSigner,
  setTransactionMessageFeePayer,
  type TransactionPartialSigner,
} from '@solana/kit';
import { type Chain, createChain } from '../../src/solana/chain.ts';
import { sendAndConfirm } from '../../src/solana/send-and-confirm.ts';
import { type SignedTransaction, signTransaction } from '../../src/solana/transactions.ts';

export interface Cluster {
  readonly localnet: Localnet;
  readonly chain: Chain;
  /** An address with plenty of SOL. */
  readonly payer: KeyPairSigner;
}

/** Starts the local cluster with short slots, so that tests do not wait. */
export async function startCluster(): Promise<Cluster> {
  const localnet = await startLocalnet({ slotMs: 20, squadsProgram: 'emulation' });
  const payer = await generateKeyPairSigner();
  await localnet.bank.airdrop(payer.address, 1_000_000_000_000n);
  return { localnet, payer, chain: createChain({ rpcUrls: [localnet.url] }) };
}

/** Builds a transaction of the cluster's payer and signs it. */
export async function sign(
  { chain, payer }: Cluster,
  instructions: readonly Instruction[],
  signers: readonly TransactionPartialSigner[] = [],
): Promise<SignedTransaction & { readonly lastValidBlockHeight: bigint }> {
  const message = setTransactionMessageFeePayer(payer.address, createTransactionMessage({ version: 0 }));
  const lifetime = await chain.latestBlockhash();
  const filled = appendTransactionMessageInstructions(instructions, message);
  return { ...lifetime, ...(await signTransaction(filled, lifetime, [payer, ...signers])) };
}

/** Lands a transaction; throws if it fails. */
export async function land(
  cluster: Cluster,
  instructions: readonly Instruction[],
  signers: readonly TransactionPartialSigner[] = [],
): Promise<void> {
  const { wire, lastValidBlockHeight } = await sign(cluster, instructions, signers);
  const { err } = await sendAndConfirm({ chain: cluster.chain, clock: realClock }, wire, lastValidBlockHeight);
  if (err !== null) throw new Error(`The transaction failed: ${err}`);
}
