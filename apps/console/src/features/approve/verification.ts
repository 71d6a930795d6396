import { BATCH_OPERATIONS, type BatchDetail } from '@flywheel/api';
import { expectedOfMultisig, type Mismatch, type VerificationResult, verifyApproval } from '@flywheel/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { call } from '../../lib/api/call.ts';
import { requireRpcUrl, useEnvironment } from '../../lib/api/environment.ts';
import { checkPin, describePinMismatch, type PinCheck } from '../../lib/pins.ts';
import { rpcErrorOf } from '../../ui/feedback.tsx';

export interface VerifiedApproval {
  readonly verification: VerificationResult;
  /** The parts of the batch that were compared with what this browser knows. */
  readonly shown: Pick<BatchDetail['batch'], 'multisig' | 'vaultAddress' | 'mintAddress'> & { readonly wallet: string };
  readonly known: PinCheck;
  /** Base64. These bytes were verified; the wallet must sign no others. */
  readonly proposalApproveTx: string;
}

interface VerificationInput {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** The wallet that will sign. */
  readonly wallet: string;
}

/**
 * Fetches the approval transaction and verifies it, and the batch shown on this page, against the chain.
 * A refetch fetches and verifies both again.
 */
export function useVerification({ projectId, batch, wallet }: VerificationInput): UseQueryResult<VerifiedApproval> {
  const environment = useEnvironment();
  const batchId = batch.batch.id;
  const { multisig, batchIndex, vaultAddress, mintAddress } = batch.batch;
  const { pipelines } = batch;
  return useQuery({
    // The key holds everything that is verified: when the page shows other data, the old result no longer counts.
    queryKey: [
      'verification',
      batchId,
      wallet,
      environment?.rpcUrl,
      multisig,
      batchIndex,
      vaultAddress,
      mintAddress,
      identityOf(pipelines),
    ],
    queryFn: async ({ signal }): Promise<VerifiedApproval> => {
      const rpcUrl = requireRpcUrl(environment);
      const { proposalApproveTx } = await call(
        BATCH_OPERATIONS.getApproval,
        { params: { projectId, batchId } },
        { signal },
      );
      const shown = { wallet, multisig, vaultAddress, mintAddress };
      const known = await checkPin(rpcUrl, shown, signal);
      const { pin } = known.search;
      const verification = await verifyApproval(
        rpcUrl,
        {
          wallet,
          batch: { ...shown, batchIndex, pipelines },
          proposalApproveTx,
          ...(pin && { expect: expectedOfMultisig(pin) }),
        },
        { signal },
      );
      return { verification, shown, known, proposalApproveTx };
    },
    enabled: environment !== undefined,
    // What does not match is a result, and stays.
    retry: (failures, error) => failures < MAX_RETRIES && isNodeAway(error),
    // The messages of an active proposal cannot change any more.
    staleTime: Number.POSITIVE_INFINITY,
    // Opening the screen again reads the chain again.
    gcTime: 0,
  });
}

const MAX_RETRIES = 2;

/** True if a node that does not answer, or not now, is the reason; `call` has repeated a request of the service by itself. */
function isNodeAway(error: Error): boolean {
  const node = rpcErrorOf(error);
  const isRefusal = node?.status != null && node.status >= 400 && node.status < 500 && node.status !== 429;
  return node !== undefined && !isRefusal;
}

const identities = new WeakMap<BatchDetail['pipelines'], number>();
let lastIdentity = 0;

/**
 * Number of an array of pipelines, to be part of a query key: a batch may hold megabytes of them, too much to hash on
 * every render. React Query keeps the same array when a refetch answers equal data.
 */
function identityOf(pipelines: BatchDetail['pipelines']): number {
  const known = identities.get(pipelines);
  if (known !== undefined) return known;
  lastIdentity += 1;
  identities.set(pipelines, lastIdentity);
  return lastIdentity;
}

/** Lists every reason against signing, a sentence each: first those of the approval itself. Empty if verified. */
export function verificationIssues(approval: VerifiedApproval): readonly Mismatch[] {
  const { issues, mismatches } = approval.verification;
  const unknown = describePinMismatch(approval.known.search, approval.shown);
  return [...issues, ...(unknown === null ? [] : [unknown])]
    .map((text): Mismatch => ({ pipeline: null, text }))
    .concat(mismatches);
}
