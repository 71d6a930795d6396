import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { formatProofMemo, parseMergedPayload } from '@flywheel/protocol';
import { verifyProofOnChain } from '@flywheel/sdk';
import merged from '../../../../vectors/merged-payloads.json' with { type: 'json' };
import { startStubService } from '../stub-service.ts';

/** A question about a proof, a node's answer to `getTransaction`, and the verdict. */
export interface ProofVector {
  readonly name: string;
  /** True if a field of the answer was changed after it was recorded. */
  readonly isEdited: boolean;
  readonly vault: string;
  readonly type: string;
  readonly payload: string;
  /** The merged payload that is said to have paid for the event. */
  readonly mergedPayload?: string;
  readonly isProven: boolean;
  /** Proofs of the vault in the transaction. */
  readonly found: readonly string[];
  /** Null if the node does not know the transaction. */
  readonly transaction: RecordedTransaction | null;
}

/** An answer of `getTransaction`, as far as the recording changes it. */
export interface RecordedTransaction {
  readonly slot: number;
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly message: {
      readonly accountKeys: readonly string[];
      readonly instructions: readonly RecordedInstruction[];
    };
  };
  readonly meta: {
    readonly err: unknown;
    readonly loadedAddresses: { readonly writable: readonly string[]; readonly readonly: readonly string[] };
    readonly innerInstructions: readonly RecordedGroup[];
  };
}

export interface RecordedInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight: number;
}

/** What an instruction of the transaction called. */
export interface RecordedGroup {
  readonly index: number;
  readonly instructions: readonly RecordedInstruction[];
}

/** A multisig and its accounts. */
export interface Derivation {
  readonly program: string;
  readonly createKey: string;
  readonly multisig: string;
  readonly vault: string;
  /** Of a batch or config transaction, from 1. */
  readonly index: number;
  /** Of a pipeline in the batch, from 1. */
  readonly position: number;
  readonly transaction: string;
  readonly proposal: string;
  readonly batchTransaction: string;
}

export interface Vectors {
  readonly description: string;
  readonly derivations: readonly Derivation[];
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
export async function checkVectors({ proofs, derivations }: Vectors): Promise<void> {
  // The path is the place of the vector.
  await using node = await startStubService(({ path }) => {
    const result = proofs[Number(path.slice(1))]?.transaction;
    return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: 1, result }) };
  });
  const questions: [string, string[]][] = [];
  for (const [place, { name, vault, type, payload, mergedPayload, isProven, found, transaction }] of proofs.entries()) {
    const [signature = ''] = transaction?.transaction.signatures ?? [UNKNOWN_SIGNATURE];
    const url = `${node.url}/${place}`;
    const verdict = await verifyProofOnChain(url, { signature, vault, type, payload, mergedPayload });
    assert.deepEqual([verdict.isProven, verdict.found.map(formatProofMemo)], [isProven, found], name);
    questions.push([url, [signature, vault, type, payload, ...(mergedPayload === undefined ? [] : [mergedPayload])]]);
  }
  const payloads = [
    ...merged.mergedPayloads.map((each) => each.mergedPayload),
    ...merged.refused.map((each) => each.payload),
  ];
  const { answers, mergedEvents, derived } = await runVerifiers({ questions, payloads, derivations });
  for (const [place, { name, isProven, found }] of proofs.entries()) {
    const { code, stdout = '' } = answers[place] ?? {};
    assert.deepEqual({ code, proofs: proofsOf(stdout) }, { code: isProven ? 0 : 1, proofs: found }, name);
  }
  assert.deepEqual(
    mergedEvents,
    payloads.map((payload) => parseMergedPayload(payload) ?? []),
  );
  assert.deepEqual(
    derived,
    derivations.map(({ program: _, createKey: __, index: ___, position: ____, ...addresses }) => addresses),
  );
}

/** Sixty-four zero bytes: a signature that no node knows. */
const UNKNOWN_SIGNATURE = '1'.repeat(64);

interface Verifiers {
  readonly answers: readonly { readonly code: number; readonly stdout: string }[];
  readonly mergedEvents: readonly (readonly string[])[];
  readonly derived: readonly Readonly<Record<string, string>>[];
}

/** Runs the reference verifier on each question in one process (verify_vectors.py). */
async function runVerifiers(given: object): Promise<Verifiers> {
  const running = runPython([fileURLToPath(new URL('verify_vectors.py', import.meta.url)), VERIFIER]);
  running.child.stdin?.end(JSON.stringify(given));
  return JSON.parse((await running).stdout);
}

/** Runs the reference verifier. @returns its exit code, and the proofs that it lists. */
export async function runVerifier(
  rpcUrl: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly proofs: readonly string[] }> {
  const { code, stdout } = await runPython([VERIFIER, ...args], rpcUrl).then(
    (ended) => ({ code: 0, ...ended }),
    (error: { readonly code: number; readonly stdout: string }) => error,
  );
  return { code, proofs: proofsOf(stdout) };
}

const VERIFIER = fileURLToPath(new URL('../../../../examples/verify_proof.py', import.meta.url));

/** Starts Python without whatever is installed, so that only the standard library is there. */
function runPython(args: readonly string[], rpcUrl = '') {
  const env = { ...process.env, SOLANA_RPC_URL: rpcUrl };
  return promisify(execFile)(process.env.FLYWHEEL_PYTHON || 'python3', ['-I', ...args], { env });
}

function proofsOf(stdout: string): string[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => String(JSON.parse(line.slice('proven '.length))));
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
