import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { verifyProofOnChain } from '@flywheel/sdk';
import { startStubService } from '../stub-service.ts';

/** A question about a proof, a node's answer to `getTransaction`, and the verdict. */
export interface ProofVector {
  readonly name: string;
  /** True if a field of the answer was changed after it was recorded. */
  readonly isEdited: boolean;
  readonly vault: string;
  readonly type: string;
  readonly payload: string;
  readonly isProven: boolean;
  /** Proofs of the vault in the transaction. */
  readonly found: readonly string[];
  readonly transaction: RecordedTransaction;
}

/** An answer of `getTransaction`, as far as the recording changes it. */
export interface RecordedTransaction {
  readonly slot: number;
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly message: {
      readonly accountKeys: readonly string[];
      readonly instructions: readonly { readonly data: string; readonly programIdIndex: number }[];
    };
  };
  readonly meta: {
    readonly err: unknown;
    readonly loadedAddresses: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
    readonly innerInstructions: readonly {
      readonly instructions: readonly { readonly accounts: readonly number[] }[];
    }[];
  };
}

export interface Vectors {
  readonly description: string;
  readonly derivations: readonly Readonly<Record<string, string | number>>[];
  readonly proofs: readonly ProofVector[];
}

const FILE = new URL('../../../../vectors/proofs.json', import.meta.url);

export async function readVectors(): Promise<Vectors> {
  return JSON.parse(await readFile(FILE, 'utf8'));
}

export async function writeVectors(vectors: Vectors): Promise<void> {
  await writeFile(FILE, `${JSON.stringify(vectors, null, 2)}\n`);
}

/** Asks the SDK and the Python verifier about each vector, over a node that answers what it holds. */
export async function checkVectors(vectors: readonly ProofVector[]): Promise<void> {
  for (const { name, vault, type, payload, isProven, found, transaction } of vectors) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: transaction });
    await using node = await startStubService(() => ({ status: 200, body }));
    const [signature = ''] = transaction.transaction.signatures;
    const verdict = await verifyProofOnChain(node.url, { signature, vault, type, payload });
    assert.equal(verdict.isProven, isProven, name);
    assert.deepEqual(
      verdict.found.map((memo) => `flywheel:v1:${memo.type}:${memo.hash}`),
      found,
      name,
    );
    const { code, proofs } = await runVerifier(node.url, [signature, vault, type, payload]);
    assert.deepEqual({ code, proofs }, { code: isProven ? 0 : 1, proofs: found }, name);
  }
}

/** Runs the reference verifier. @returns its exit code, and the proofs that it lists. */
export async function runVerifier(
  rpcUrl: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly proofs: readonly string[] }> {
  const python = process.env.FLYWHEEL_PYTHON || 'python3';
  const program = fileURLToPath(new URL('../../../../examples/verify_proof.py', import.meta.url));
  // Isolated: the standard library alone, whatever is installed.
  const running = promisify(execFile)(python, ['-I', program, ...args], {
    env: { ...process.env, SOLANA_RPC_URL: rpcUrl },
  });
  const { code, stdout } = await running.then(
    (ended) => ({ code: 0, ...ended }),
    (error: { readonly code: number; readonly stdout: string }) => error,
  );
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { code, proofs: lines.map((line) => String(JSON.parse(line.slice('proven '.length)))) };
}

/** What of a vector is the same in every recording: its question, its verdict, and the names and kinds of the answer's fields. */
export function shapeOf({ name, isEdited, isProven, found, transaction }: ProofVector): unknown {
  return { name, isEdited, isProven, found: found.length, transaction: kindOf(transaction) };
}

function kindOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [kindOf(value[0])];
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, kindOf(field)]));
}
