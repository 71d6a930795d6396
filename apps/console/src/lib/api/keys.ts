import { KEY_OPERATIONS, type RotateKeyRequest } from '@flywheel/api';
import { queryOptions } from '@tanstack/react-query';
import { call } from './call.ts';

/** The API keys of a project that work, and the last ones that have ended; newest first. */
export function keysQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId, 'keys'],
    queryFn: () => call(KEY_OPERATIONS.listKeys, { params: { projectId } }),
  });
}

/** Creates a key that replaces another; both work until the overlap ends. */
export function rotateKey(
  projectId: string,
  keyId: string,
  body: Pick<RotateKeyRequest, 'overlapSeconds' | 'expiresAt'>,
) {
  return call(KEY_OPERATIONS.rotateKey, { params: { projectId, keyId }, body });
}

/** Revokes a key. This cannot be undone. */
export function revokeKey(projectId: string, keyId: string) {
  return call(KEY_OPERATIONS.revokeKey, { params: { projectId, keyId }, body: {} });
}
