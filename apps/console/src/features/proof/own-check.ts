import type { ProvenPipeline } from '@flywheel/api';
import { readVaultProofs } from '@flywheel/sdk';
import { type QueryFunctionContext, type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useEnvironment } from '../../lib/api/environment.ts';

/**
 * The result of looking for a memo in its transaction. `missing`: the transaction does not have it; `unknown`: the node does not
 * have the transaction; `unread`: the node does not answer.
 */
export type OwnCheck = 'pending' | 'found' | 'missing' | 'unknown' | 'unread';

/**
 * Reads the transactions of pipelines from the cluster and looks for their memos, independently of the service.
 * @param expected the memo of the event that is asked about; null for a question about a signature, whose memos the
 * service names.
 * @returns a result for each pipeline; null for one without a memo on chain.
 */
export function useOwnChecks(
  pipelines: readonly ProvenPipeline[],
  expected: string | null,
): readonly (OwnCheck | null)[] {
  const rpcUrl = useEnvironment()?.rpcUrl;
  const queries = pipelines.map(({ signature = '', memo: named = '', vaultAddress: vault }) => {
    // The memo of another proof of the vault is in its transaction too.
    const memo = expected ?? named;
    return {
      queryKey: ['memo', signature, memo, vault],
      queryFn: async ({ signal }: QueryFunctionContext) => {
        const query = { signature, vault, commitment: 'confirmed' } as const;
        const read = await readVaultProofs(rpcUrl ?? '', query, { signal });
        if (read === null) return 'unknown';
        return read.proofs.some(({ text }) => text === memo) ? 'found' : 'missing';
      },
      enabled: rpcUrl !== undefined && signature !== '' && named !== '',
    };
  });
  const results: readonly UseQueryResult<OwnCheck>[] = useQueries({ queries });
  return pipelines.map(({ signature, memo }, position) => {
    if (signature === undefined || memo === undefined) return null;
    return results[position]?.data ?? (results[position]?.error ? 'unread' : 'pending');
  });
}
