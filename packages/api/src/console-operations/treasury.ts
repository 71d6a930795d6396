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
import { COMPANY, HEAVY, projectParams, SESSION } from './common.ts';

const { initBatch } = OPERATIONS;

const rotationErrors = [
  'ERR_PROJECT_NOT_FOUND',
  'ERR_ROTATION_REFUSED',
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_CAP_REACHED',
  'ERR_PAUSED',
  'ERR_NONCE_POOL_EMPTY',
  'ERR_NODE_UNAVAILABLE',
] as const;

/** A rotation that an operator of the company requests. */
const COMPANY_ROTATION = {
  ...COMPANY,
  method: 'POST',
  headers: initBatch.headers,
  params: projectParams,
  body: z.strictObject({}),
  responses: { 200: { description: 'The rotation for the project’s wallet to approve.', schema: Rotation } },
  errors: rotationErrors,
  fallback: initBatch.fallback,
} as const;

/** Withdrawals from the vault, and replacement of the multisig’s members. */
export const TREASURY_OPERATIONS = {
  withdraw: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/projects/{projectId}/withdrawals',
    summary: 'Withdraw SOL or tokens from the vault',
    description:
      'Creates a batch of one pipeline that is set up, approved by both sides and executed like any batch. A person always approves for the company. It does not count against daily limits, and API keys cannot read it.',
    headers: initBatch.headers,
    params: projectParams,
    body: WithdrawalRequest,
    responses: { 200: { description: 'The batch to approve.', schema: Withdrawal } },
    errors: [
      'ERR_PROJECT_NOT_FOUND',
      'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      'ERR_TOO_MANY_OPEN_BATCHES',
      'ERR_CAP_REACHED',
      'ERR_ROTATION_OPEN',
      'ERR_PAUSED',
      'ERR_NONCE_POOL_EMPTY',
      'ERR_NODE_UNAVAILABLE',
    ],
    fallback: initBatch.fallback,
  },
  rotateWallet: {
    ...HEAVY,
    method: 'POST',
    path: '/console/api/projects/{projectId}/rotations',
    summary: 'Replace the project’s wallet',
    description:
      'The request carries a signature of the new wallet. Creates a batch whose one pipeline changes the multisig; the current wallet approves it, and a person approves for the company. Open batches continue. When both sides have approved the rotation, new batches are refused with `ERR_ROTATION_OPEN` until it has ended.',
    headers: initBatch.headers,
    params: projectParams,
    body: RotateWalletRequest,
    responses: { 200: { description: 'The rotation to approve.', schema: Rotation } },
    errors: rotationErrors,
    fallback: initBatch.fallback,
  },
  rotateCompany: {
    ...COMPANY_ROTATION,
    path: '/console/api/company/projects/{projectId}/rotations',
    summary: 'Replace the company’s approver of a project',
    description:
      'Replaces it by the approver that the service signs with now. The project’s wallet approves, then an operator of the company; the vote is cast with the previous approver’s key.',
  },
  rotateOperator: {
    ...COMPANY_ROTATION,
    path: '/console/api/company/projects/{projectId}/rotations/operator',
    summary: 'Replace the operator of a project',
    description:
      'Replaces it by the operator that the service works with now, which also collects the rent from then on. The project’s wallet approves, then an operator of the company; the previous operator’s key proposes and executes it.',
  },
  listRotations: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/rotations',
    summary: 'List rotations',
    description: 'Replacements of the project’s wallet, the company’s approver and the operator.',
    params: projectParams,
    responses: { 200: { description: 'The rotations.', schema: RotationList } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
