import { BATCH_OPERATIONS, type Pipeline } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../lib/service/call.ts';

/** A thousand pipelines are compiled before the service answers. */
const INIT_TIMEOUT_MS = 120_000;

export interface CreateRequest {
  readonly projectId: string;
  readonly batches: readonly (readonly Pipeline[])[];
}

/**
 * Makes the batches one after the other. What failed is tried again from there: every batch has a key of its own, so
 * that one whose answer was lost is not made twice.
 */
export function useCreateBatches({ projectId, batches }: CreateRequest) {
  const queries = useQueryClient();
  const [keys] = useState(() => batches.map(() => crypto.randomUUID()));
  const [created, setCreated] = useState<readonly string[]>([]);
  const create = useMutation({
    mutationFn: async () => {
      const ids = [...created];
      for (const [position, pipelines] of batches.entries()) {
        const key = keys[position];
        if (position < ids.length || key === undefined) continue;
        const { batch } = await call(
          BATCH_OPERATIONS.initProjectBatch,
          { params: { projectId }, headers: { 'x-idempotency-key': key }, body: { pipelines: [...pipelines] } },
          { timeoutMs: INIT_TIMEOUT_MS, repeatable: true },
        );
        ids.push(batch.id);
        setCreated([...ids]);
      }
      return ids;
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['batches', projectId] }),
  });
  return { create, created };
}
