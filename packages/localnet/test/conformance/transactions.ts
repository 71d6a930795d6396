import { createHash } from 'node:crypto';
import {
  type AccountRole,
  type Address,
  createKeyPairSignerFromPrivateKeyBytes,
  getBase58Decoder,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit';
import { signedWire, type Version, type WireOptions } from '../wire/signed-wire.ts';
import { callMethod, resultOf, type Target, waitFor } from './client.ts';
import type { Roles } from './normalise.ts';

/** A signed transaction that the script sends, and its encoding. */
export interface Wire {
  readonly signature: string;
  readonly base64: string;
  readonly bytes: Uint8Array;
}

/**
 * Makes the key of a role. Keys are the same in each run: the cost of deriving a token account depends on its address,
 * and so would the compute units of a transaction that does.
 */
export function keyOf(role: string): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(createHash('sha256').update(`conformance ${role}`).digest());
}

export async function signWire(
  payer: KeyPairSigner,
  instructions: readonly Instruction[],
  { version = 0, ...options }: Pick<WireOptions, 'blockhash'> & Partial<WireOptions>,
): Promise<Wire> {
  return wireOf(await signedWire(payer, instructions, { version, ...options }), version);
}

/** Changes bytes of a transaction, and keeps its signatures. */
export function changeWire({ bytes }: Wire, version: Version, change: (bytes: Uint8Array) => void): Wire {
  const changed = new Uint8Array(bytes);
  change(changed);
  return wireOf(changed, version);
}

function wireOf(bytes: Uint8Array, version: Version): Wire {
  // Version 1 has its signatures last; none of the script's has more than one of them.
  const start = version === 1 ? bytes.length - 64 : 1;
  const signature = getBase58Decoder().decode(bytes.subarray(start, start + 64));
  return { signature, bytes, base64: Buffer.from(bytes).toString('base64') };
}

/** An instruction of a program without a client here: memos, compute budgets, instructions that no program has. */
export function instruction(
  programAddress: string,
  data: Uint8Array,
  accounts: readonly { readonly address: Address; readonly role: AccountRole }[] = [],
): Instruction {
  return { programAddress: programAddress as Address, data, accounts };
}

export const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
export const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111';

export function memo(text: string): Instruction {
  return instruction(MEMO_PROGRAM, new TextEncoder().encode(text));
}

export function computeUnitLimit(units: number): Instruction {
  const data = new Uint8Array(5);
  data[0] = 2;
  new DataView(data.buffer).setUint32(1, units, true);
  return instruction(COMPUTE_BUDGET_PROGRAM, data);
}

export function computeUnitPrice(microLamports: bigint): Instruction {
  const data = new Uint8Array(9);
  data[0] = 3;
  new DataView(data.buffer).setBigUint64(1, microLamports, true);
  return instruction(COMPUTE_BUDGET_PROGRAM, data);
}

/** Reads the newest blockhash of a commitment and names it. */
export async function readBlockhash(target: Target, roles: Roles, commitment = 'confirmed'): Promise<string> {
  const result = await resultOf(target, 'getLatestBlockhash', [{ commitment }]);
  const { blockhash } = (result as { value: { blockhash: string } }).value; // the documented shape
  roles.set(blockhash, 'blockhash');
  return blockhash;
}

/** Sends a transaction without preflight, and waits until it has a commitment. Returns its slot. */
export async function land(target: Target, { base64, signature }: Wire, commitment: string): Promise<bigint> {
  const config = { encoding: 'base64', skipPreflight: true };
  await resultOf(target, 'sendTransaction', [base64, config]);
  return awaitCommitment(target, signature, commitment);
}

export function awaitCommitment(target: Target, signature: string, commitment: string): Promise<bigint> {
  const enough = LEVELS.slice(LEVELS.indexOf(commitment));
  return waitFor(target, `${signature} is ${commitment}`, async () => {
    const answer = await callMethod(target, 'getSignatureStatuses', [[signature]]);
    const [status] = (answer as Statuses).result.value; // the documented shape
    return status && enough.includes(status.confirmationStatus) ? BigInt(status.slot) : null;
  });
}

const LEVELS = ['processed', 'confirmed', 'finalized'];

interface Statuses {
  readonly result: { readonly value: readonly ({ slot: number; confirmationStatus: string } | null)[] };
}
