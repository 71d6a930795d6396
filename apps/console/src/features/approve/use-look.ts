import { BATCH_OPERATIONS, type BatchDetail } from '@flywheel/api';
import { type Look, lookBeforeSign } from '@flywheel/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { call } from '../../lib/service/call.ts';
import { useEnvironment } from '../../lib/service/environment.ts';

export interface LookedAt {
  readonly look: Look;
  /** The very bytes that were looked at, and the only ones to sign: base64. */
  readonly proposalApproveTx: string;
}

export interface LookRequest {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** Who is to sign. */
  readonly wallet: string;
  readonly isMyTurn: boolean;
}

/** The approval to sign, and what this page finds in its bytes and on chain; asking again asks for both anew. */
export function useLook({ projectId, batch, wallet, isMyTurn }: LookRequest): UseQueryResult<LookedAt> {
  const rpcUrl = useEnvironment()?.rpcUrl ?? null;
  const batchId = batch.batch.id;
  const { multisig, batchIndex, vaultAddress, mintAddress } = batch.batch;
  const { pipelines } = batch;
  return useQuery({
    // Of what is shown now, and of nothing that was shown before or will be: the batch is read again while one looks.
    queryKey: ['look', batchId, wallet, rpcUrl, multisig, batchIndex, vaultAddress, mintAddress, numberOf(pipelines)],
    queryFn: async ({ signal }): Promise<LookedAt> => {
      if (rpcUrl === null) throw new Error('The service has not said yet which cluster it is on.');
      const { proposalApproveTx } = await call(
        BATCH_OPERATIONS.getApproval,
        { params: { projectId, batchId } },
        { signal },
      );
      const shown = { multisig, batchIndex, vaultAddress, mintAddress, pipelines };
      return { look: await lookBeforeSign(rpcUrl, { wallet, batch: shown, proposalApproveTx }), proposalApproveTx };
    },
    enabled: isMyTurn && rpcUrl !== null,
    // An active proposal’s messages cannot change any more.
    staleTime: Number.POSITIVE_INFINITY,
    // Whoever opens the screen anew sees the chain as it is then.
    gcTime: 0,
  });
}

const numbers = new WeakMap<BatchDetail['pipelines'], number>();
let lastNumber = 0;

/** Pipelines that were read again and are the same stay the same array, and have the same number. */
function numberOf(pipelines: BatchDetail['pipelines']): number {
  const known = numbers.get(pipelines);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(pipelines, lastNumber);
  return lastNumber;
}
