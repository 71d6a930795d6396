import { MEMO_PROGRAM_ADDRESS, type ProofMemo, parseProofMemo } from '@flywheel/protocol';
import type { Address, Instruction } from '@solana/kit';
import { VAULT_INDEX, vaultAddress } from './addresses.ts';
import { BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR } from './generated/batch-instructions.ts';
import { hasDiscriminator, SQUADS_PROGRAM_ADDRESS } from './program.ts';

/** An instruction of a transaction, and all that were called below it, at any depth, in order. */
export interface TransactionCall {
  readonly instruction: Instruction;
  readonly inner: readonly Instruction[];
}

/** A proof memo that a vault wrote on chain by executing a pipeline. */
export interface VaultProof extends ProofMemo {
  /** The complete memo. */
  readonly text: string;
  readonly vault: Address;
  readonly multisig: Address;
}

/**
 * Finds the proofs that the instructions of a successful transaction wrote, in order. Every verifier uses this function.
 * A memo counts only as the first instruction that a `batchExecuteTransaction` calls, where the service puts it, so that
 * no MEMO action of a pipeline is taken for one. Its only signer must be the vault of the multisig that executes.
 *
 * @example
 * const proofs = findVaultProofs(calls);
 * const isProven = proofs.some(({ text, vault }) => text === expectedMemo && vault === projectVault);
 */
export function findVaultProofs(calls: readonly TransactionCall[]): VaultProof[] {
  return calls.map((call) => readExecution(call)?.proof ?? null).filter((proof) => proof !== null);
}

/** A pipeline that an instruction of a transaction executed. */
export interface PipelineExecution {
  readonly multisig: Address;
  readonly batch: Address;
  /** Account of the executed vault message. */
  readonly transaction: Address;
  /** The proof that the vault wrote first; null if it wrote none there. */
  readonly proof: VaultProof | null;
}

/** Reads the pipeline that an instruction of a successful transaction executed; null for every other instruction. */
export function readExecution({ instruction, inner }: TransactionCall): PipelineExecution | null {
  const { programAddress, accounts = [], data = new Uint8Array() } = instruction;
  const isExecution =
    programAddress === SQUADS_PROGRAM_ADDRESS && hasDiscriminator(data, BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR);
  const [multisig, , , batch, transaction] = accounts;
  if (!isExecution || !multisig || !batch || !transaction) return null;
  return {
    multisig: multisig.address,
    batch: batch.address,
    transaction: transaction.address,
    proof: proofOf(multisig.address, inner),
  };
}

function proofOf(multisig: Address, [first]: readonly Instruction[]): VaultProof | null {
  if (first?.programAddress !== MEMO_PROGRAM_ADDRESS) return null;
  const vault = vaultAddress(multisig, VAULT_INDEX);
  // The memo program requires the signature of every account that it is given.
  const [signer, ...others] = first.accounts ?? [];
  if (signer?.address !== vault || others.length > 0) return null;
  const text = textOf(first.data);
  if (text === null) return null;
  const memo = parseProofMemo(text);
  return memo && { ...memo, text, vault, multisig };
}

/** Reads a memo byte for byte: a byte order mark is a part of the text. Null if it is not UTF-8. */
function textOf(data: Instruction['data']): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(data ?? []));
  } catch {
    return null;
  }
}
