import {
  CreatedKey,
  CreateKeyRequest,
  KeyList,
  RevokedKey,
  RotatedKey,
  RotateKeyRequest,
} from '../console-schemas/key.ts';
import type { Operation } from '../operation.ts';
import { SESSION } from './access.ts';
import { keyParams, projectParams } from './params.ts';

export const KEY_OPERATIONS = {
  listKeys: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/keys',
    summary: 'List the API keys of a project',
    description: 'Newest first, revoked ones included; never the keys themselves.',
    params: projectParams,
    responses: { 200: { description: 'The keys.', schema: KeyList } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  createKey: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/keys',
    summary: 'Create an API key',
    description: 'The key is shown this once; only its hash is kept.',
    params: projectParams,
    body: CreateKeyRequest,
    responses: { 200: { description: 'The key.', schema: CreatedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  rotateKey: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/keys/{keyId}/rotate',
    summary: 'Replace an API key',
    description: 'Makes a key with the same scopes. Both work until the overlap is over, then only the new one.',
    params: keyParams,
    body: RotateKeyRequest,
    responses: { 200: { description: 'The new key, shown this once.', schema: RotatedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_KEY_NOT_FOUND'],
  },
  revokeKey: {
    ...SESSION,
    method: 'DELETE',
    path: '/console/api/projects/{projectId}/keys/{keyId}',
    summary: 'Revoke an API key',
    description: 'At once and for good; repeating answers the same.',
    params: keyParams,
    responses: { 200: { description: 'Revoked.', schema: RevokedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_KEY_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
