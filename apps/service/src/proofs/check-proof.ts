import {
  ApiError,
  MAX_PROVEN_PIPELINES,
  type ProofCheck,
  type ProofCheckRequest,
  type ProvenPipeline,
} from '@flywheel/api';
import { pluralize, proofHash } from '@flywheel/protocol';
import { findVaultProofs, type VaultProof } from '@flywheel/squads';
import { type Address, isSignature, type Signature } from '@solana/kit';
import type { Chain } from '../solana/chain.ts';
import type { LandedTransaction } from '../solana/landed-transaction.ts';
import { findProofsByHash, findProofsBySignature, type RecordedProof } from '../store/batches/proofs.ts';
import type { Db } from '../store/db.ts';
import { findVaults } from '../store/projects/projects.ts';

export interface CheckProofDeps {
  readonly db: Db;
  readonly chain: Pick<Chain, 'landedTransaction'>;
  /** Bounds the checks of one vault's proofs, whoever asks. */
  readonly work: {
    run<Result>(work: 'proof checks', vault: Address, start: () => Promise<Result>): Promise<Result>;
  };
}

/**
 * Checks a proof, or what a transaction proves. The database only says where to look: `proven` means that the proof was
 * read from the chain. Anyone may call this, so it answers nothing that the chain does not show.
 * @throws ApiError ERR_INVALID_REQUEST for a signature that is not 64 bytes; ERR_TOO_MANY_AT_ONCE, ERR_RATE_LIMITED.
 */
export async function checkProof(deps: CheckProofDeps, request: ProofCheckRequest): Promise<ProofCheck> {
  if (!('signature' in request)) return checkEvent(deps, request);
  const { signature } = request;
  if (isSignature(signature)) return checkTransaction(deps, signature);
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'body.signature',
    problem: 'must be a signature: 64 bytes in base58.',
  });
}

async function checkEvent(
  { db, chain, work }: CheckProofDeps,
  event: { readonly type: string; readonly payload: string },
): Promise<ProofCheck> {
  const hash = proofHash(event);
  const records = await findProofsByHash(db, [hash], MAX_PROVEN_PIPELINES);
  const read = remembering((signature) => chain.landedTransaction(signature));
  const lookUpAll = () => Promise.all(records.map((record) => lookUp(read, record)));
  const [first] = records;
  const pipelines = first ? await work.run('proof checks', first.vault, lookUpAll) : [];
  pipelines.sort((a, b) => Number(b.isOnChain) - Number(a.isOnChain));
  return { ...verdictOnEvent(pipelines), hash, pipelines };
}

function verdictOnEvent(pipelines: readonly ProvenPipeline[]): Pick<ProofCheck, 'verdict' | 'message'> {
  const proven = pipelines.filter(({ isOnChain }) => isOnChain);
  const [first] = proven.length > 0 ? proven : pipelines;
  if (!first) {
    const message =
      'No proof: no batch of this service has this type and payload. Every byte of the payload counts, spaces too.';
    return { verdict: 'nothing', message };
  }
  if (!first.isOnChain) return { verdict: 'recorded', message: unexecuted(first) };
  // No more are looked up than are listed.
  const times = pipelines.length < MAX_PROVEN_PIPELINES ? proven.length : `at least ${proven.length}`;
  const again =
    proven.length === 1 ? '' : ` The same proof is on chain ${times} times, each time as a pipeline of its own.`;
  return {
    verdict: 'proven',
    message: `Proven: transaction ${first.signature} contains this proof, signed by the vault ${first.vaultAddress}, as pipeline ${first.pipeline} of batch ${first.batchIndex}.${again}`,
  };
}

type ReadTransaction = (signature: Signature) => Promise<LandedTransaction | null>;

/** Looks on chain for the proof of a recorded pipeline. */
async function lookUp(read: ReadTransaction, record: RecordedProof): Promise<ProvenPipeline> {
  for (const signature of record.signatures) {
    if (!isSignature(signature)) continue;
    const transaction = await read(signature);
    const proof = transaction && proofsIn(transaction).find((proof) => isOf(proof, record));
    if (transaction && proof) return presentProven(record, signature, transaction, proof);
  }
  return present(record);
}

function proofsIn({ succeeded, calls }: LandedTransaction): VaultProof[] {
  return succeeded ? findVaultProofs(calls) : [];
}

function isOf(proof: VaultProof, { type, hash, vault }: RecordedProof): boolean {
  return proof.type === type && proof.hash === hash && proof.vault === vault;
}

async function checkTransaction({ db, chain }: CheckProofDeps, signature: Signature): Promise<ProofCheck> {
  const transaction = await chain.landedTransaction(signature);
  if (!transaction) return transactionNotShown(db, signature);
  if (!transaction.succeeded) {
    return nothing('No proof: the transaction failed, so it had no effect.');
  }
  const proofs = proofsIn(transaction);
  const [first] = proofs;
  if (!first) {
    return nothing('No proof: the transaction contains no proof that a vault has signed through its multisig.');
  }
  const vaults = await findVaults(
    db,
    proofs.map(({ vault }) => vault),
  );
  const known = new Set(vaults.map(({ vault }) => vault));
  const ours = proofs.filter(({ vault }) => known.has(vault));
  if (ours.length === 0) {
    return nothing(
      `No proof of this service: the transaction contains ${pluralize(proofs.length, 'proof')}, signed by ${first.vault}, which is not a vault of this service.`,
    );
  }
  const records = await findProofsByHash(
    db,
    ours.map(({ hash }) => hash),
    MAX_PROVEN_PIPELINES,
    { sentIn: signature },
  );
  const pipelines = records.flatMap((record) => {
    const proof = ours.find((proof) => isOf(proof, record));
    return proof && record.signatures.includes(signature) ? [presentProven(record, signature, transaction, proof)] : [];
  });
  pipelines.sort((a, b) => a.pipeline - b.pipeline);
  const [vault] = ours.map((proof) => proof.vault);
  const whose =
    pipelines.length > 0
      ? ` of ${batchesOf(pipelines)}`
      : ', of which this service has no record but whose vault it knows';
  return {
    verdict: 'proven',
    message: `Proven: the transaction contains ${pluralize(ours.length, 'proof')}${whose}, signed by the vault ${vault}.`,
    pipelines,
  };
}

/** Nodes discard old transactions. The database's record of one is not a proof, and the answer says so. */
async function transactionNotShown(db: Db, signature: Signature): Promise<ProofCheck> {
  const records = await findProofsBySignature(db, signature, MAX_PROVEN_PIPELINES);
  if (records.length === 0) {
    return nothing(
      'No proof: the cluster does not know this transaction. It may not have landed, or belong to another cluster.',
    );
  }
  return { verdict: 'recorded', message: executionNotShown(signature), pipelines: records.map(present) };
}

function nothing(message: string): ProofCheck {
  return { verdict: 'nothing', message, pipelines: [] };
}

function presentProven(
  record: RecordedProof,
  signature: Signature,
  { slot, blockTime }: LandedTransaction,
  { text }: VaultProof,
): ProvenPipeline {
  return {
    ...present(record),
    isOnChain: true,
    memo: text,
    signature,
    slot: String(slot),
    ...(blockTime && { executedAt: blockTime.toISOString() }),
  };
}

function present(record: RecordedProof): ProvenPipeline {
  const [signature] = record.status === 'EXECUTED' ? record.signatures : [];
  return {
    batchId: record.batchId,
    batchIndex: String(record.batchIndex),
    status: record.status,
    pipeline: record.position,
    type: record.type,
    hash: record.hash,
    mintAddress: record.mint,
    multisig: record.multisig,
    vaultAddress: record.vault,
    isOnChain: false,
    ...(signature !== undefined && { signature }),
  };
}

/** Reads each transaction once: several pipelines can share one. */
function remembering(read: ReadTransaction): ReadTransaction {
  const known = new Map<Signature, ReturnType<ReadTransaction>>();
  return (signature) => {
    const transaction = known.get(signature) ?? read(signature);
    known.set(signature, transaction);
    return transaction;
  };
}

/** `batch 4`, `batches 4 and 7` */
function batchesOf(pipelines: readonly ProvenPipeline[]): string {
  const indices = [...new Set(pipelines.map(({ batchIndex }) => batchIndex))];
  const last = indices.pop() ?? '';
  return indices.length === 0 ? `batch ${last}` : `batches ${indices.join(', ')} and ${last}`;
}

/** Explains why a recorded proof is not proven. */
function unexecuted({ status, batchIndex, pipeline, signature }: ProvenPipeline): string {
  const where = `pipeline ${pipeline} of batch ${batchIndex}`;
  switch (status) {
    case 'AVAILABLE_TO_QUEUE':
    case 'FINALIZED':
      return `Not proven yet: ${where} contains this proof and waits to be approved and executed.`;
    case 'EXECUTED':
      return signature === undefined
        ? `Not proven: ${where} contains this proof and is recorded as executed, but not in which transaction.`
        : executionNotShown(signature);
    case 'FAILED':
      return `Not proven: ${where} contains this proof, but the batch ended without executing it.`;
    default:
      throw new Error(`No sentence for ${status satisfies never}.`);
  }
}

/** Explains that the node has discarded the transaction. */
function executionNotShown(signature: string): string {
  return `Not proven here: transaction ${signature} is recorded, but the cluster’s node does not show it, or no longer shows it. An archive node or an explorer can.`;
}
