import { Withdrawal, WithdrawalRequest } from '../console-schemas/treasury.ts';
import type { Operation } from '../operation.ts';
import { OPERATIONS } from '../operations.ts';
import { SESSION } from './access.ts';
import { projectParams } from './params.ts';

const { initBatch } = OPERATIONS;

/** What leaves the vault other than by pipelines, and who decides over it: the project’s wallet only. */
export const TREASURY_OPERATIONS = {
  withdraw: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/withdrawals',
    summary: 'Take SOL or tokens out of the vault',
    description:
      'Makes a batch of one pipeline, which goes the way of every batch: set up on chain, approved by both sides, executed. No daily limit counts it and no API key sees it.',
    headers: initBatch.headers,
    params: projectParams,
    body: WithdrawalRequest,
    responses: { 200: { description: 'The batch to approve.', schema: Withdrawal } },
    errors: [
      'ERR_PROJECT_NOT_FOUND',
      'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      'ERR_TOO_MANY_OPEN_BATCHES',
      'ERR_PAUSED',
      'ERR_NONCE_POOL_EMPTY',
    ],
    fallback: initBatch.fallback,
  },
} as const satisfies { readonly [operationId: string]: Operation };
