import { callLocalnet, METHOD_NOT_FOUND, RpcError } from '@flywheel/solana-rpc';
import { useQuery } from '@tanstack/react-query';
import { useEnvironment } from './api/environment.ts';

/**
 * Returns the URL of the local cluster if it gives SOL and tokens away; null for any other, such as a validator on the same
 * machine, and until it has answered.
 */
export function useLocalBank(): string | null {
  const environment = useEnvironment();
  const rpcUrl = environment?.rpcUrl ?? '';
  const isThere = useQuery({
    queryKey: ['local bank', rpcUrl],
    queryFn: () => hasLocalBank(rpcUrl),
    enabled: environment?.isLocal === true,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return isThere.data === true ? rpcUrl : null;
}

/** Checks if a cluster gives SOL and tokens away. The call has no recipient: a cluster that has the method refuses it. */
async function hasLocalBank(rpcUrl: string): Promise<boolean> {
  try {
    await callLocalnet(rpcUrl, 'localnet_fund', {});
  } catch (error) {
    if (!(error instanceof RpcError) || error.code === null) throw error;
    return error.code !== METHOD_NOT_FOUND;
  }
  return true;
}
