import { randomUUID } from 'node:crypto';
import type { Pipeline } from '@flywheel/api';
import { z } from 'zod';
import type { HttpAnswer, HttpRequest } from '../http-load.ts';

/**
 * The operations of the mix, and how many of a thousand requests each is. A key may read ten times a second, and preview or init
 * ten times a minute: clients that use up their limits send a preview or an init for about sixty reads.
 */
export const MIX = {
  get: 560,
  current: 170,
  list: 130,
  events: 100,
  proof: 20,
  preview: 10,
  init: 4,
  'init again': 2,
  cancel: 4,
} as const;
export type OperationName = keyof typeof MIX;
export const OPERATION_NAMES = Object.keys(MIX) as OperationName[]; // the names of the object above

/** A project and what its clients know. */
export const Tenant = z.object({
  apiKey: z.string(),
  /** An executed batch whose stream of events has ended. */
  batchId: z.string(),
  /** A pipeline of it. */
  proof: z.object({ type: z.string(), payload: z.string() }),
});
export type Tenant = z.infer<typeof Tenant>;

/** Clients of one project: what they send depends on what they have opened. */
export interface TenantClients {
  request(name: OperationName): HttpRequest;
  note(name: OperationName, answer: HttpAnswer): void;
}

const InitAnswer = z.object({ batch: z.object({ id: z.string() }) });

/** @param recipients receive the airdrops. */
export function createTenantClients(
  { apiKey, batchId, proof }: Tenant,
  recipients: readonly string[],
  random: () => number,
): TenantClients {
  const key = { 'x-service-api-key': apiKey };
  const opened: string[] = [];
  let lastInit: HttpRequest | null = null;
  const get = (path: string): HttpRequest => ({ method: 'GET', path, headers: key });
  const pipelines = () => JSON.stringify({ pipelines: makePipelines(recipients, random) });
  const init = (): HttpRequest => {
    const headers = { ...key, 'x-idempotency-key': randomUUID() };
    lastInit = { method: 'POST', path: '/v1/flywheel/batch/init', headers, body: pipelines() };
    return lastInit;
  };
  return {
    request: (name) => {
      switch (name) {
        case 'get':
          return get(`/v1/flywheel/batch/${batchId}`);
        case 'current':
          return get('/v1/flywheel/batch/current');
        case 'list':
          return get('/v1/flywheel/batches');
        case 'events':
          return get(`/v1/flywheel/batch/${batchId}/events`);
        case 'preview':
          return { method: 'POST', path: '/v1/flywheel/batch/preview', headers: key, body: pipelines() };
        case 'proof':
          return { method: 'POST', path: '/console/api/proof', body: JSON.stringify(proof) };
        case 'init':
          return init();
        case 'init again':
          return lastInit ?? init();
        case 'cancel': {
          const id = opened.shift();
          if (id === undefined) return get('/v1/flywheel/batch/current');
          const headers = { ...key, prefer: 'wait=0' };
          return { method: 'POST', path: `/v1/flywheel/batch/${id}/cancel`, headers };
        }
        default:
          return name satisfies never;
      }
    },
    note: (name, { status, body }) => {
      if (name === 'init' && status === 200) opened.push(InitAnswer.parse(JSON.parse(body)).batch.id);
    },
  };
}

const PIPELINES = 10;

function makePipelines(recipients: readonly string[], random: () => number): Pipeline[] {
  return Array.from({ length: PIPELINES }, () => ({
    type: 'PRODUCT_PURCHASE',
    payload: JSON.stringify({ orderId: randomUUID() }),
    actions: [
      { action: 'BURN', amount: 0.5 },
      { action: 'AIRDROP', toAddress: recipients[Math.floor(random() * recipients.length)] ?? '', amount: 0.25 },
    ],
  }));
}
