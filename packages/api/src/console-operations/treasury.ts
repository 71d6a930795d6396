import * as z from 'zod';
import {
  RotateWalletRequest,
  Rotation,
  RotationList,
  Withdrawal,
  WithdrawalRequest,
} from '../console-schemas/treasury.ts';
import type { Operation } from '../operation.ts';
import { OPERATIONS } from '../operations.ts';
import { COMPANY, SESSION } from './access.ts';
import { projectParams } from './params.ts';

const { initBatch } = OPERATIONS;

const rotationErrors = [
  'ERR_PROJECT_NOT_FOUND',
  'ERR_ROTATION_REFUSED',
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_PAUSED',
  'ERR_NONCE_POOL_EMPTY',
] as const;

/** What leaves the vault other than by pipelines, and who decides over it. */
export const TREASURY_OPERATIONS = {
  withdraw: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/withdrawals',
    summary: 'Take SOL or tokens out of the vault',
    description:
      'Makes a batch of one pipeline, which goes the way of every batch: set up on chain, approved by both sides, executed. A person always approves for the company. No daily limit counts it and no API key sees it.',
    headers: initBatch.headers,
    params: projectParams,
    body: WithdrawalRequest,
    responses: { 200: { description: 'The batch to approve.', schema: Withdrawal } },
    errors: [
      'ERR_PROJECT_NOT_FOUND',
      'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      'ERR_TOO_MANY_OPEN_BATCHES',
      'ERR_ROTATION_OPEN',
      'ERR_PAUSED',
      'ERR_NONCE_POOL_EMPTY',
    ],
    fallback: initBatch.fallback,
  },
  rotateWallet: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/rotations',
    summary: 'Replace the project’s wallet',
    description:
      'The new wallet has signed that it takes over. Makes a batch whose one pipeline changes the multisig: the present wallet approves it, and for the company always a person. Refused while batches are open, which it would make stale.',
    headers: initBatch.headers,
    params: projectParams,
    body: RotateWalletRequest,
    responses: { 200: { description: 'The rotation to approve.', schema: Rotation } },
    errors: rotationErrors,
    fallback: initBatch.fallback,
  },
  rotateCompany: {
    ...COMPANY,
    method: 'POST',
    path: '/console/api/company/projects/{projectId}/rotations',
    summary: 'Replace the company’s approver of a project',
    description:
      'By the one that the service signs with now. The project’s wallet approves it, then an operator of the company, for whom the approver of before votes.',
    headers: initBatch.headers,
    params: projectParams,
    body: z.strictObject({}),
    responses: { 200: { description: 'The rotation for the project’s wallet to approve.', schema: Rotation } },
    errors: rotationErrors,
    fallback: initBatch.fallback,
  },
  listRotations: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/rotations',
    summary: 'List who replaced whom',
    description: 'The project’s wallets and the company’s approvers, one after another.',
    params: projectParams,
    responses: { 200: { description: 'The rotations.', schema: RotationList } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
