import { BATCH_OPERATIONS } from '@flywheel/api';
import { isFlywheelError, signApproval } from '@flywheel/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { progressQuery } from '../../lib/service/batches.ts';
import { call } from '../../lib/service/call.ts';
import { useEnvironment } from '../../lib/service/environment.ts';
import { chainOf } from '../../lib/wallet/chain-of.ts';
import { walletSigner } from '../../lib/wallet/wallet-signer.ts';

/** Every pipeline is checked once more before the company signs. */
const EXECUTE_TIMEOUT_MS = 120_000;

export interface ApproveRequest {
  readonly projectId: string;
  readonly batchId: string;
  readonly wallet: string;
  /** The approval is no longer the one that was looked at. */
  readonly onStale: () => void;
}

interface Signed {
  /** What was signed. */
  readonly of: string;
  readonly signedTx: string;
}

/**
 * Signs an approval with the wallet and hands it in. What has been signed is handed in again as it is, where the
 * service refused for a reason that can be mended: an empty vault, a pause.
 */
export function useApprove({ projectId, batchId, wallet, onStale }: ApproveRequest) {
  const queries = useQueryClient();
  const environment = useEnvironment();
  const [signed, setSigned] = useState<Signed | null>(null);
  const approve = useMutation({
    mutationFn: async (proposalApproveTx: string) => {
      let signedTx = signed?.of === proposalApproveTx ? signed.signedTx : null;
      if (signedTx === null) {
        signedTx = await signApproval(proposalApproveTx, await walletSigner(wallet, chainOf(environment)));
        setSigned({ of: proposalApproveTx, signedTx });
      }
      return call(
        BATCH_OPERATIONS.executeProjectBatch,
        { params: { projectId, batchId }, body: { signedTx } },
        { timeoutMs: EXECUTE_TIMEOUT_MS },
      );
    },
    onSuccess: (progress) => queries.setQueryData(progressQuery(projectId, batchId).queryKey, progress),
    onError: (error) => {
      if (!isFlywheelError(error, 'ERR_SIGNED_TX_INVALID')) return;
      setSigned(null);
      onStale();
    },
  });
  return { approve, isSigned: signed !== null };
}
