import { MEMO_PROGRAM_ADDRESS, type ProofMemo, parseProofMemo } from '@flywheel/protocol';
import type { Address, Instruction } from '@solana/kit';
import { VAULT_INDEX, vaultAddress } from './addresses.ts';
import { BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR } from './generated/batch-instructions.ts';
import { SQUADS_PROGRAM_ADDRESS } from './program.ts';

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
 * const proofs = await findVaultProofs(calls);
 * const isProven = proofs.some(({ text, vault }) => text === expectedMemo && vault === projectVault);
 */
export async function findVaultProofs(calls: readonly TransactionCall[]): Promise<VaultProof[]> {
  const found = await Promise.all(calls.map(findProof));
  return found.filter((proof) => proof !== null);
}

async function findProof({ instruction, inner }: TransactionCall): Promise<VaultProof | null> {
  const multisig = executingMultisig(instruction);
  const [first] = inner;
  if (multisig === null || first?.programAddress !== MEMO_PROGRAM_ADDRESS) return null;
  const vault = vaultAddress(multisig, VAULT_INDEX);
  // The memo program requires the signature of every account that it is given.
  const [signer, ...others] = first.accounts ?? [];
  if (signer?.address !== vault || others.length > 0) return null;
  const text = new TextDecoder().decode(Uint8Array.from(first.data ?? []));
  const memo = parseProofMemo(text);
  return memo && { ...memo, text, vault, multisig };
}

/** The multisig whose batch an instruction executes: the first account of `batchExecuteTransaction`. */
function executingMultisig({ programAddress, accounts = [], data = new Uint8Array() }: Instruction): Address | null {
  const isExecution =
    programAddress === SQUADS_PROGRAM_ADDRESS &&
    BATCH_EXECUTE_TRANSACTION_DISCRIMINATOR.every((byte, index) => data[index] === byte);
  return isExecution ? (accounts[0]?.address ?? null) : null;
}
