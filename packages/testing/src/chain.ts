import { setTimeout as sleep } from 'node:timers/promises';
import type { Multisig } from '@flywheel/service/internal/model/project.ts';
import { locateBatch } from '@flywheel/service/internal/squads/instructions.ts';
import { findProject } from '@flywheel/service/internal/store/projects/projects.ts';
import {
  type BatchAccount,
  decodeBatch,
  decodeProposal,
  type ProposalAccount,
  type ProposalStatus,
} from '@flywheel/squads';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Commitment,
  createTransactionMessage,
  fetchEncodedAccount,
  getBase64EncodedWireTransaction,
  getSolanaErrorFromTransactionError,
  type Instruction,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type TransactionSigner,
} from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { findAssociatedTokenPda, getMintDecoder, getTokenDecoder } from '@solana-program/token';
import type { TestProject } from './project.ts';
import type { World } from './world.ts';

/**
 * Lands a transaction that the first signer pays for, and waits until it is confirmed; throws if it fails. Its compute limit differs
 * from that of any other: a cluster takes the same transfer twice with one blockhash for one transaction.
 */
export async function land(
  { rpc }: Pick<World, 'rpc'>,
  payer: TransactionSigner,
  instructions: readonly Instruction[],
  version: 'legacy' | 0 = 0,
): Promise<void> {
  const { value: lifetime } = await rpc.getLatestBlockhash().send();
  const message = setTransactionMessageLifetimeUsingBlockhash(
    lifetime,
    setTransactionMessageFeePayerSigner(payer, createTransactionMessage({ version })),
  );
  const transaction = await signTransactionMessageWithSigners(
    setTransactionMessageComputeUnitLimit(
      MAX_COMPUTE_UNIT_LIMIT - landed++,
      appendTransactionMessageInstructions(instructions, message),
    ),
  );
  const wire = getBase64EncodedWireTransaction(transaction);
  const signature = await rpc.sendTransaction(wire, { encoding: 'base64' }).send();
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
    if (status?.err) {
      const cause = getSolanaErrorFromTransactionError(status.err);
      throw new Error(`Transaction ${signature} failed.`, { cause });
    }
    if (status && status.confirmationStatus !== 'processed') return;
    if (Date.now() > deadline) throw new Error(`Transaction ${signature} is not confirmed after ${TIMEOUT_MS} ms.`);
    await sleep(POLL_INTERVAL_MS);
  }
}

let landed = 0;
const POLL_INTERVAL_MS = 10;
/** A blockhash lives for a minute on a cluster with slots of 400 ms. */
const TIMEOUT_MS = 120_000;

/** Reads the base units in an owner's associated token account; 0 without an account. */
export async function tokenBalance(world: Pick<World, 'rpc'>, mint: Address, owner: Address): Promise<bigint> {
  const account = await fetchEncodedAccount(world.rpc, await tokenAccountOf(world, mint, owner));
  return account.exists ? getTokenDecoder().decode(account.data).amount : 0n;
}

export async function tokenAccountOf(world: Pick<World, 'rpc'>, mint: Address, owner: Address): Promise<Address> {
  const { programAddress: tokenProgram } = await readAccount(world, mint);
  const [tokenAccount] = await findAssociatedTokenPda({ owner, mint, tokenProgram });
  return tokenAccount;
}

export async function tokenSupply(world: Pick<World, 'rpc'>, mint: Address): Promise<bigint> {
  return getMintDecoder().decode((await readAccount(world, mint)).data).supply;
}

export async function findMultisig(
  { db }: Pick<World, 'db'>,
  { projectId }: Pick<TestProject, 'projectId'>,
): Promise<Multisig> {
  const project = await findProject(db, projectId);
  if (project === null || typeof project === 'string') throw new Error(`Project ${projectId} is not whole.`);
  return project.flywheel.multisig;
}

interface BatchOnChain {
  readonly batch: BatchAccount;
  readonly proposal: Omit<ProposalAccount, 'status'> & { readonly status: ProposalStatus['__kind'] };
}

/** Reads a set-up batch from the chain, at `confirmed` by default. */
export async function readBatchOnChain(
  world: World,
  project: Pick<TestProject, 'projectId'>,
  batchIndex: bigint,
  commitment: Commitment = 'confirmed',
): Promise<BatchOnChain> {
  const found = await findBatchOnChain(world, project, batchIndex, commitment);
  if (found === null) throw new Error(`Batch ${batchIndex} of project ${project.projectId} is not on chain.`);
  return found;
}

/** Finds a batch on chain; null before its setup and after its accounts were closed. */
export async function findBatchOnChain(
  world: World,
  project: Pick<TestProject, 'projectId'>,
  batchIndex: bigint,
  commitment: Commitment,
): Promise<BatchOnChain | null> {
  const located = locateBatch(await findMultisig(world, project), batchIndex);
  const [batchAccount, proposalAccount] = await Promise.all([
    fetchEncodedAccount(world.rpc, located.address, { commitment }),
    fetchEncodedAccount(world.rpc, located.proposal, { commitment }),
  ]);
  if (!batchAccount.exists || !proposalAccount.exists) return null;
  const proposal = decodeProposal(proposalAccount);
  return { batch: decodeBatch(batchAccount), proposal: { ...proposal, status: proposal.status.__kind } };
}

async function readAccount({ rpc }: Pick<World, 'rpc'>, address: Address) {
  const account = await fetchEncodedAccount(rpc, address, { commitment: 'confirmed' });
  if (!account.exists) throw new Error(`There is no account ${address}.`);
  return account;
}
