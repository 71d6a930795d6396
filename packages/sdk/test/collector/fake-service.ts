import assert from 'node:assert/strict';
import type { Batch, ExecuteResult, InitBatchRequest, Pipeline } from '@flywheel/api';
import { parseMergedPayload } from '@flywheel/protocol';
import { BATCH, initAnswer } from '../batches.ts';

/** How a recipient behaves towards the batches that pay it. */
export type Behaviour =
  /** Init refuses it: no wallet. */
  | 'noWallet'
  /** The check before approval names it, always. */
  | 'refusesCheck'
  /** Makes the batch fail on chain, always. */
  | 'failsAlways'
  /** Makes the first batch fail on chain. */
  | 'failsOnce';

interface FakeBatch {
  readonly id: string;
  readonly body: string;
  readonly pipelines: readonly Pipeline[];
  status: Batch['status'];
  result: ExecuteResult | undefined;
  endCause: Batch['endCause'];
}

export interface FakeService {
  readonly fetch: typeof fetch;
  /** Ids of the events whose pipelines were executed, in order. */
  readonly paid: readonly string[];
  readonly inits: readonly (readonly string[])[];
  /** HTTP status of each init that was refused, in order. */
  readonly refused: readonly number[];
  /** Ids of the events that merged payloads may list, by their proof hashes. */
  readonly ids: Map<string, string>;
  /** Vault of the API key's project; undefined as at a service older than 0.3. */
  vaultAddress: string | undefined;
  /** Largest number of pipelines of a batch that the daily limit lets through. */
  limit: number;
  /** Tokens of a day by recipient. The error of a cap names the recipient if `isNamed`. */
  readonly caps: Map<string, { readonly tokens: number; readonly isNamed: boolean }>;
  /** Called with each request before and after it is served; what it throws or awaits happens to the caller. */
  onRequest: (when: 'before' | 'after', operation: string) => Promise<void> | void;
}

/** Answers in memory as the service does, as far as a collector can see it. */
export function createFakeService(
  proposalApproveTx: string,
  behaviourOf: (recipient: string) => Behaviour | undefined,
): FakeService {
  const batches = new Map<string, FakeBatch>();
  const held = new Set<string>();
  const failedOnce = new Set<string>();
  const paid: string[] = [];
  const inits: string[][] = [];
  const refused: number[] = [];
  const ids = new Map<string, string>();
  const received = new Map<string, number>();

  function init(key: string, body: string): Answer {
    const earlier = batches.get(key);
    const { pipelines } = JSON.parse(body) as InitBatchRequest;
    if (earlier) {
      if (earlier.body !== body) return failure(422, 'ERR_DUPLICATE_IDEMPOTENCY_KEY', 'Another body.');
      return { status: 200, body: initBody(earlier.id), headers: { 'idempotency-replayed': 'true' } };
    }
    const problem = problemOf(pipelines);
    if (problem) {
      refused.push(problem.status);
      return problem;
    }
    const id = `00000000-0000-8000-8000-${String(batches.size).padStart(12, '0')}`;
    for (const [to, tokens] of tokensOf(pipelines)) received.set(to, (received.get(to) ?? 0) + tokens);
    batches.set(key, { id, body, pipelines, status: 'FINALIZED', result: undefined, endCause: undefined });
    inits.push(pipelines.flatMap(idsOf));
    return { status: 200, body: initBody(id), headers: { 'idempotency-replayed': 'false' } };
  }

  /** Each event is worth one token. */
  function idsOf({ payload, actions }: Pipeline): string[] {
    const hashes = parseMergedPayload(payload);
    if (hashes === null) return [JSON.parse(payload).id];
    assert.deepEqual(
      actions.map((action) => action.action === 'AIRDROP' && action.amount),
      [hashes.length],
    );
    return hashes.map((hash) => ids.get(hash) ?? 'unknown');
  }

  function initBody(id: string) {
    const answer = initAnswer(proposalApproveTx);
    return { ...answer, batch: { ...answer.batch, id } };
  }

  function problemOf(pipelines: readonly Pipeline[]): Answer | null {
    const badType = pipelines.findIndex(({ type }) => type === 'UNKNOWN');
    if (badType >= 0) {
      return failure(400, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', 'is not registered.', [
        { place: `pipelines[${badType}].type` },
      ]);
    }
    const noWallet = pipelines.findIndex((each) => recipientsOf(each).some((to) => behaviourOf(to) === 'noWallet'));
    if (noWallet >= 0) {
      const [recipient] = recipientsOf(pipelines[noWallet]);
      const place = `pipelines[${noWallet}].actions[0].toAddress`;
      return failure(400, 'ERR_FLYWHEEL_INVALID_ACTION', 'is no wallet.', [{ place, recipient }]);
    }
    const paysHeld = pipelines.map((each) => recipientsOf(each).filter((to) => held.has(to)));
    if (paysHeld.some((each) => each.length > 0) && paysHeld.some((each) => each.length === 0)) {
      const named = paysHeld.flatMap((recipients, i) =>
        recipients.map((recipient) => ({ place: `pipelines[${i}].actions[0].toAddress`, recipient })),
      );
      return failure(409, 'ERR_RECIPIENT_HELD_BACK', 'stopped a batch.', named);
    }
    const capped = [...tokensOf(pipelines)].filter(([to, tokens]) => {
      const cap = fake.caps.get(to)?.tokens ?? Number.POSITIVE_INFINITY;
      return (received.get(to) ?? 0) + tokens > cap;
    });
    if (capped.length > 0) {
      const named = capped.flatMap(([recipient]) => (fake.caps.get(recipient)?.isNamed ? [{ recipient }] : []));
      const answered = failure(429, 'ERR_POLICY_CAP_REACHED', 'Above the cap of a day.', named);
      return { ...answered, headers: { 'retry-after': '36000' } };
    }
    if (pipelines.length > fake.limit) return failure(400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', 'Too much for today.');
    return null;
  }

  function execute(batch: FakeBatch, signedTx: string): Answer {
    if (batch.result === undefined) {
      if (signedTx === proposalApproveTx) return failure(400, 'ERR_SIGNED_TX_INVALID', 'It is not signed.');
      const named = batch.pipelines.flatMap((each, i) =>
        recipientsOf(each).flatMap((recipient) =>
          behaviourOf(recipient) === 'refusesCheck'
            ? [{ place: `pipelines[${i}].actions[0].toAddress`, recipient }]
            : [],
        ),
      );
      if (named.length > 0) {
        for (const { recipient } of named) held.add(recipient);
        return failure(409, 'ERR_BATCH_WOULD_FAIL', 'requires a memo.', named);
      }
      land(batch);
    }
    return { status: 200, body: { batchId: batch.id, status: batch.status, result: batch.result } };
  }

  function land(batch: FakeBatch): void {
    const total = batch.pipelines.length;
    const failing = batch.pipelines.findIndex((each) => recipientsOf(each).some(failsNow));
    const executed = failing < 0 ? total : failing;
    for (const each of batch.pipelines.slice(0, executed)) {
      paid.push(...idsOf(each));
      for (const recipient of recipientsOf(each)) held.delete(recipient);
    }
    const counts = { total, totalSuccessful: executed, totalFailed: total - executed, successfulExecutions: [] };
    batch.status = failing < 0 ? 'EXECUTED' : 'FAILED';
    batch.result = counts;
    if (failing < 0) return;
    const recipient = recipientsOf(batch.pipelines[failing]).find((to) => behaviourOf(to)?.startsWith('fails')) ?? '';
    failedOnce.add(recipient);
    held.add(recipient);
    const left = batch.pipelines.slice(executed).flatMap(recipientsOf);
    batch.result = {
      ...counts,
      failedRecipient: { pipeline: failing, action: 0, recipient, reason: 'Frozen.' },
      heldRecipients: [...new Set(left.filter((to) => held.has(to)))],
    };
  }

  function failsNow(recipient: string): boolean {
    const behaviour = behaviourOf(recipient);
    return behaviour === 'failsAlways' || (behaviour === 'failsOnce' && !failedOnce.has(recipient));
  }

  function cancel(batch: FakeBatch): Answer {
    if (batch.status === 'EXECUTED') return failure(409, 'ERR_BATCH_NOT_CANCELLABLE', 'It was executed.');
    if (batch.status !== 'FAILED') {
      const total = batch.pipelines.length;
      batch.status = 'FAILED';
      batch.endCause = 'cancelled';
      batch.result = {
        total,
        totalSuccessful: 0,
        totalFailed: total,
        successfulExecutions: [],
        failedTxMsg: 'Cancelled.',
      };
    }
    return { status: 200, body: { batchId: batch.id, status: 'FAILED', result: batch.result } };
  }

  function answer(method: string, path: string, headers: Headers, body: string): Answer {
    if (path.endsWith('/init')) return init(headers.get('x-idempotency-key') ?? '', body);
    const known = [...batches.values()];
    if (path.endsWith('/execute')) {
      const { batchId, signedTx } = JSON.parse(body);
      const batch = known.find(({ id }) => id === batchId);
      return batch ? execute(batch, signedTx) : failure(404, 'ERR_BATCH_NOT_FOUND', 'No such batch.');
    }
    if (path.endsWith('/batches')) {
      const listed = known.map(({ id, status }) => ({ ...BATCH, id, status })).toReversed();
      return { status: 200, body: { batches: listed, vaultAddress: fake.vaultAddress } };
    }
    const batch = known.find(({ id }) => path.includes(id));
    if (!batch) return failure(404, 'ERR_BATCH_NOT_FOUND', 'No such batch.');
    if (method === 'POST') return cancel(batch);
    const { id, status, endCause, result } = batch;
    const ended = result && { endCause, executeResult: result };
    return { status: 200, body: { ...BATCH, id, status, proposalApproveTx, ...ended } };
  }

  const fake: FakeService = {
    fetch: async (input, { method = 'GET', headers, body } = {}) => {
      const { pathname } = new URL(String(input));
      const operation = `${method} ${pathname.split('/').at(-1)}`;
      await fake.onRequest('before', operation);
      const {
        status,
        body: answered,
        headers: more,
      } = answer(method, pathname, new Headers(headers), String(body ?? ''));
      await fake.onRequest('after', operation);
      return Response.json(answered, { status, headers: more ?? {} });
    },
    paid,
    inits,
    refused,
    ids,
    vaultAddress: BATCH.vaultAddress,
    limit: Number.POSITIVE_INFINITY,
    caps: new Map(),
    onRequest: () => undefined,
  };
  return fake;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

interface Named {
  readonly place?: string;
  readonly recipient?: string | undefined;
}

function failure(status: number, error: string, message: string, named: readonly Named[] = []): Answer {
  const problems = named.map((each) => ({ code: error, message, ...each }));
  return { status, body: { error, message, ...(problems.length > 0 && { problems }) } };
}

/** Adds up what each recipient gets. */
function tokensOf(pipelines: readonly Pipeline[]): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const action of pipelines.flatMap(({ actions }) => actions)) {
    if (action.action !== 'AIRDROP') continue;
    tokens.set(action.toAddress, (tokens.get(action.toAddress) ?? 0) + Number(action.amount));
  }
  return tokens;
}

function recipientsOf(pipeline: Pipeline | undefined): string[] {
  return (pipeline?.actions ?? []).flatMap((action) => (action.action === 'AIRDROP' ? [action.toAddress] : []));
}
