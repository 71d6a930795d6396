import {
  CreatedKey,
  CreateKeyRequest,
  KeyList,
  RevokedKey,
  RotatedKey,
  RotateKeyRequest,
} from '../console-schemas/key.ts';
import type { Operation } from '../operation.ts';
import { keyParams, projectParams, SESSION } from './common.ts';

export const KEY_OPERATIONS = {
  listKeys: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/keys',
    summary: 'List the API keys of a project',
    description:
      'Newest first: all keys that work, and the 100 that were the last to be revoked or to expire. The keys themselves are never shown.',
    params: projectParams,
    responses: { 200: { description: 'The keys.', schema: KeyList } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  createKey: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/keys',
    summary: 'Create an API key',
    description: 'The key is shown only in this response; the service stores its hash.',
    params: projectParams,
    body: CreateKeyRequest,
    responses: { 200: { description: 'The key.', schema: CreatedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_TOO_MANY_KEYS'],
  },
  rotateKey: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/projects/{projectId}/keys/{keyId}/rotate',
    summary: 'Replace an API key',
    description: 'Creates a key with the same scopes. Both keys work until the overlap ends, then only the new one.',
    params: keyParams,
    body: RotateKeyRequest,
    responses: { 200: { description: 'The new key, shown only here.', schema: RotatedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_KEY_NOT_FOUND', 'ERR_TOO_MANY_KEYS'],
  },
  revokeKey: {
    ...SESSION,
    method: 'DELETE',
    path: '/console/api/projects/{projectId}/keys/{keyId}',
    summary: 'Revoke an API key',
    description:
      'Takes effect at once and cannot be undone. The key’s open batches that the wallet has not approved are cancelled with it. A repeated request returns the first revocation, and cancels what is left.',
    params: keyParams,
    responses: { 200: { description: 'Revoked.', schema: RevokedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_KEY_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
