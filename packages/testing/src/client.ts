import { randomUUID } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';

/** An answer as it was received. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what the wire answers is what the tests look into and assert.
  readonly body: any;
}

export interface RequestOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body that is sent as JSON. */
  readonly body?: unknown;
  /** Body that is sent unchanged. */
  readonly text?: string;
}

/** Sends one request, exactly as given. */
export async function send(url: string, method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const { key, headers = {}, body, text = body === undefined ? undefined : JSON.stringify(body) } = options;
  const response = await fetch(new URL(path, url), {
    method,
    headers: {
      ...(key !== undefined && { 'x-service-api-key': key }),
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(text !== undefined && { body: text }),
  });
  const answered = await response.text();
  return { status: response.status, headers: response.headers, body: answered === '' ? null : JSON.parse(answered) };
}

export function init(
  url: string,
  key: string,
  pipelines: readonly unknown[],
  idempotencyKey: string = randomUUID(),
): Promise<Answer> {
  const headers = { 'x-idempotency-key': idempotencyKey };
  return send(url, 'POST', '/v1/flywheel/batch/init', { key, headers, body: { pipelines } });
}

export function preview(url: string, key: string, pipelines: readonly unknown[]): Promise<Answer> {
  return send(url, 'POST', '/v1/flywheel/batch/preview', { key, body: { pipelines } });
}

export function execute(
  url: string,
  key: string,
  batchId: string,
  signedTx: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return send(url, 'POST', '/v1/flywheel/batch/execute', { key, headers, body: { batchId, signedTx } });
}

export function getBatch(url: string, key: string, batchId: string, query = ''): Promise<Answer> {
  return send(url, 'GET', `/v1/flywheel/batch/${batchId}${query}`, { key });
}

export function getCurrent(url: string, key: string): Promise<Answer> {
  return send(url, 'GET', '/v1/flywheel/batch/current', { key });
}

/** Builds a pipeline of one burn, different each time. */
export function burnPipeline(amount = 1): Pipeline {
  return {
    type: 'PRODUCT_PURCHASE',
    payload: JSON.stringify({ orderId: randomUUID() }),
    actions: [{ action: 'BURN', amount }],
  };
}

/** Burns one token in 20 parts: a transaction has compute units for few of such pipelines, and a bundle for about 15. */
export function heavyBurnPipeline(): Pipeline {
  return { ...burnPipeline(), actions: Array.from({ length: 20 }, () => ({ action: 'BURN', amount: 0.05 })) };
}

export function airdropPipeline(toAddress: string, amount = 1): Pipeline {
  const payload = JSON.stringify({ adId: randomUUID() });
  return { type: 'WATCH_AD', payload, actions: [{ action: 'AIRDROP', toAddress, amount }] };
}
