import type { ProvenPipeline } from '@flywheel/api';
import { readVaultMemos } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { useEnvironment } from '../../lib/api/environment.ts';
import { StatusBadge } from '../../ui/status-badge.tsx';

/** What this page finds on chain by itself, whatever the service says. */
export function OwnLook({ pipeline }: { readonly pipeline: ProvenPipeline }) {
  const rpcUrl = useEnvironment()?.rpcUrl;
  const { signature = '', memo = '', vaultAddress: vault } = pipeline;
  const look = useQuery({
    queryKey: ['memo', signature, memo, vault],
    queryFn: async () => {
      const written = await readVaultMemos(rpcUrl ?? '', { signature, vault, commitment: 'confirmed' });
      return written !== null && written.failure === null && written.memos.includes(memo);
    },
    enabled: rpcUrl !== undefined && signature !== '' && memo !== '',
  });
  if (look.data === true) return <StatusBadge status="done" label="The memo is there, signed by the vault" />;
  if (look.data === false) return <StatusBadge status="failed" label="No such memo in this transaction" />;
  return look.error ? 'The cluster does not answer this page' : <StatusBadge status="running" label="Looking" />;
}
