import type { Action, Pipeline } from '@flywheel/api';
import { decimalOf, sha256Hex } from '@flywheel/protocol';

/**
 * Derives an idempotency key from the parts that identify a piece of work: a UUID (RFC 9562, version 8) from their SHA-256.
 * Work that is reported twice then makes one batch, and you need not store the key.
 *
 * @example
 * await runBatch(client, pipelines, { wallet, verify: { rpcUrl }, idempotencyKey: await idempotencyKeyOf('purchase', orderId) });
 */
export async function idempotencyKeyOf(...parts: readonly string[]): Promise<string> {
  // JSON keeps the parts apart: ('a', 'bc') is not ('ab', 'c').
  const hex = sha256Hex(JSON.stringify(parts));
  const variant = VARIANTS.charAt(Number.parseInt(hex.charAt(16), 16) % VARIANTS.length);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** A batch of a run. */
export interface RunPosition {
  /** Number of the run, from 1; 1 by default. Each run pays the pipelines once. */
  readonly run?: number;
  /** 0, the default, is the run's first batch. Batch n contains the pipelines that batch n - 1 ended without executing. */
  readonly rest?: number;
}

/**
 * Derives the idempotency key of a batch of a run from all pipelines of the run and the batch's position in it. The
 * project is part of it without being hashed: the service keeps the keys of each project apart. Spacing, the order of
 * members and the notation of numbers in the request do not change the key.
 *
 * The derivation never changes between releases: with another key, a run that is resumed after an upgrade would be paid
 * twice.
 */
export function runKeyOf(pipelines: readonly Pipeline[], { run = 1, rest = 0 }: RunPosition = {}): Promise<string> {
  const content = pipelines.map(({ type, payload, actions }) => [type, payload, actions.map(partsOf)]);
  return idempotencyKeyOf('flywheel run v1', JSON.stringify(content), String(run), String(rest));
}

function partsOf(action: Action): readonly string[] {
  switch (action.action) {
    case 'BURN':
      return ['BURN', decimalOf(action.amount)];
    case 'AIRDROP':
      return ['AIRDROP', action.toAddress, decimalOf(action.amount)];
    case 'MEMO':
      return ['MEMO', action.message];
    default:
      return action satisfies never;
  }
}

/** The hex digits whose first two bits are 10, as RFC 9562 requires. */
const VARIANTS = '89ab';
