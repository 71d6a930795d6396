import { groupDigits, MAX_SIGNATURES_FOR_ADDRESS, pluralize } from '@flywheel/protocol';
import type { ChainMethod, Config } from '@flywheel/service';
import {
  callRpc,
  INVALID_PARAMS,
  LONG_TERM_STORAGE_UNREACHABLE,
  RpcError,
  TRANSACTION_HISTORY_NOT_AVAILABLE,
} from '@flywheel/solana-rpc';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { roughDuration } from '../../format.ts';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import { type Node, openTransport } from './node.ts';

/** Checks that the node allows every method that the service calls. Nothing is sent: what it sends is no transaction. */
export async function checkMethods({ url, name }: Node, methods: readonly ChainMethod[]): Promise<Check> {
  // A provider may limit requests, so there is one at a time, and one that is limited is made again.
  const transport = openTransport(url, { maxAttempts: 3 });
  const refusals: string[] = [];
  for (const method of methods) {
    try {
      await callRpc(transport, method, PROBES[method]);
    } catch (error) {
      if (!isAllowed(method, error)) refusals.push(`${method} (${reasonOf(error)})`);
    }
  }
  if (refusals.length === 0)
    return ok('methods', `${name} allows all ${methods.length} methods that the service calls.`);
  const text = `${name} refuses ${refusals.length} of the ${methods.length} methods that the service calls: ${refusals.join(', ')}.`;
  return failure('methods', text, 'Ask the provider to allow them for this key, or use another node.');
}

const CONFIRMED = { commitment: 'confirmed' } as const;
const SOME_SIGNATURE = '1'.repeat(64);
/** The same options as those of the service: a provider may allow a method, and refuse an option. */
const PROBES: Readonly<Record<ChainMethod, readonly unknown[]>> = {
  getBlockHeight: [CONFIRMED],
  getEpochInfo: [{ commitment: 'finalized' }],
  getGenesisHash: [],
  getLatestBlockhash: [CONFIRMED],
  getMinimumBalanceForRentExemption: [80],
  getMultipleAccounts: [[SQUADS_PROGRAM_ADDRESS], { ...CONFIRMED, encoding: 'base64' }],
  getRecentPrioritizationFees: [[SQUADS_PROGRAM_ADDRESS]],
  getSignaturesForAddress: [SQUADS_PROGRAM_ADDRESS, { ...CONFIRMED, limit: 1 }],
  getSignatureStatuses: [[SOME_SIGNATURE], { searchTransactionHistory: true }],
  getSlot: [CONFIRMED],
  getTransaction: [SOME_SIGNATURE, { ...CONFIRMED, encoding: 'json', maxSupportedTransactionVersion: 1 }],
  sendTransaction: ['', { encoding: 'base64', skipPreflight: true }],
  simulateTransaction: ['', { ...CONFIRMED, encoding: 'base64', sigVerify: false, replaceRecentBlockhash: true }],
};

/** Codes of a node without history, or with a short one, which `checkHistory` reports. */
const HISTORY_CODES: readonly number[] = [TRANSACTION_HISTORY_NOT_AVAILABLE, LONG_TERM_STORAGE_UNREACHABLE];

function isAllowed(method: ChainMethod, error: unknown): boolean {
  if (!(error instanceof RpcError)) return false;
  if (error.code !== null && HISTORY_CODES.includes(error.code)) return true;
  const isInvalid = error.code === INVALID_PARAMS || error.status === 400;
  return isInvalid && (method === 'sendTransaction' || method === 'simulateTransaction');
}

/** Checks that the node has the operator's transactions, and reaches as far back as a batch may stay open. */
export async function checkHistory(
  { url, name, slots }: Node,
  operator: Address | null,
  { batchExpirySeconds, isClusterLocal }: Pick<Config, 'batchExpirySeconds' | 'isClusterLocal'>,
): Promise<Check> {
  const transport = openTransport(url);
  try {
    const config = { ...CONFIRMED, limit: MAX_SIGNATURES_FOR_ADDRESS };
    const listed = await callRpc(transport, 'getSignaturesForAddress', [operator ?? SQUADS_PROGRAM_ADDRESS, config]);
    const oldest = Array.isArray(listed) ? listed.at(-1)?.signature : undefined;
    const missing = oldest === undefined ? null : await findMissing(transport, oldest);
    if (missing !== null) {
      const text = `${name} lists ${missing} among the operator’s transactions, and does not have it.`;
      return warning('history', text, NO_HISTORY_REMEDY);
    }
    const reachSeconds = isClusterLocal ? null : await readReachSeconds(transport, slots.finalized);
    if (reachSeconds !== null && reachSeconds < batchExpirySeconds) {
      const text = `${name} has the transactions of the last ${roughDuration(reachSeconds * 1_000)} only; a batch may stay open for ${roughDuration(batchExpirySeconds * 1_000)}.`;
      return warning('history', text, NO_HISTORY_REMEDY);
    }
    const count = Array.isArray(listed) ? listed.length : 0;
    const have =
      operator === null || count === 0
        ? 'keeps transactions'
        : `has the operator’s last ${pluralize(count, 'transaction')}`;
    return ok('history', `${name} ${have}${describeReach(reachSeconds)}.`);
  } catch (error) {
    return failure('history', `${name} keeps no transactions: ${reasonOf(error)}.`, NO_HISTORY_REMEDY);
  }
}

const NO_HISTORY_REMEDY =
  'Add a node with a longer history to SOLANA_RPC_URL: after a fork, or a restored backup, it says how a batch ended.';

function describeReach(reachSeconds: number | null): string {
  return reachSeconds === null || reachSeconds === Number.POSITIVE_INFINITY
    ? ''
    : `, and those of the last ${roughDuration(reachSeconds * 1_000)}`;
}

async function findMissing(transport: ReturnType<typeof openTransport>, signature: string): Promise<string | null> {
  const config = { ...CONFIRMED, encoding: 'json', maxSupportedTransactionVersion: 1 };
  return (await callRpc(transport, 'getTransaction', [signature, config])) === null ? signature : null;
}

/** Slot time of public clusters. */
const SLOT_SECONDS = 0.4;

/** Estimates how far back the node has blocks; null if it does not say: the service does not call this method. */
async function readReachSeconds(transport: ReturnType<typeof openTransport>, slot: bigint): Promise<number | null> {
  const first = await callRpc(transport, 'getFirstAvailableBlock').catch(() => null);
  if (typeof first !== 'number' && typeof first !== 'bigint') return null;
  // A node that has the first block has everything, however young the cluster is.
  return first <= 1 ? Number.POSITIVE_INFINITY : Number(slot - BigInt(first)) * SLOT_SECONDS;
}

/** Few enough for every plan that suits a service, and more than a service sends on average. */
const BURST = 10;

/** Sends a few cheap requests at once, and reads what the provider announces about limits. */
export async function checkLimits({ url, name }: Node): Promise<Check> {
  const announced = new Map<string, string>();
  const onHeaders = (headers: Headers) => {
    for (const [header, value] of headers) if (LIMIT_HEADER.test(header)) announced.set(header, value);
  };
  const transport = openTransport(url, { onHeaders });
  const startedMs = performance.now();
  const answers = await Promise.allSettled(
    Array.from({ length: BURST }, () => callRpc(transport, 'getSlot', [CONFIRMED])),
  );
  const tookMs = Math.ceil(performance.now() - startedMs);
  const said = [...announced].map(([header, value]) => `${header} ${value}`).join(', ');
  const announces = said === '' ? 'It announces no limit' : `It announces ${said}`;
  const rejected = answers.filter((answer) => answer.status === 'rejected');
  const [first] = rejected;
  if (first) {
    const text = `${name} refused ${rejected.length} of ${BURST} requests at once: ${reasonOf(first.reason)}. ${announces}.`;
    return warning('limits', text, LIMIT_REMEDY);
  }
  return ok(
    'limits',
    `${name} answered ${BURST} requests at once within ${groupDigits(String(tookMs))} ms. ${announces}.`,
  );
}

/** Drafts of `RateLimit-Limit` and what providers use: `x-ratelimit-rps-limit`, `x-ratelimit-method-limit`. */
const LIMIT_HEADER = /^(x-)?rate-?limit-(.+-)?limit$|^ratelimit(-policy)?$/;
const LIMIT_REMEDY =
  'Use a plan with a higher limit: the check before an approval makes about one call for every three pipelines, and waits after each refusal.';

/** Two seconds behind, and half a minute: blockhashes live for a minute. */
const MAX_CONFIRMED_LAG = 5n;
const MAX_FINALIZED_LAG = 75n;

/** Checks how far the commitments of a node are apart: what ends, fails or is closed waits for `finalized`. */
export function checkCommitment({ name, slots }: Node): Check {
  const { processed, confirmed, finalized } = slots;
  if (confirmed > processed || finalized > confirmed) {
    const text = `${name} answered slot ${finalized} as finalized, then ${confirmed} as confirmed, then ${processed} as processed: nodes of different heights are behind its URL.`;
    const remedy = 'Set the URLs of single nodes as SOLANA_RPC_URL, separated by commas: each decision stays on one.';
    return warning('commitment', text, remedy);
  }
  const [confirmedLag, finalizedLag] = [processed - confirmed, processed - finalized];
  const text = `${name} has its confirmed slot ${confirmedLag} and its finalized slot ${finalizedLag} behind the newest.`;
  if (confirmedLag <= MAX_CONFIRMED_LAG && finalizedLag <= MAX_FINALIZED_LAG) return ok('commitment', text);
  return warning(
    'commitment',
    text,
    'Usual are 2 and 32. If it lasts, use another node; if all say so, the cluster is slow, and batches end later.',
  );
}
