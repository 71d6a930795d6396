import type { ProvenPipeline } from '@flywheel/api';
import { readVaultMemos } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { useEnvironment } from '../../lib/service/environment.ts';
import { StateMark } from '../../ui/show/state-mark.tsx';

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
  if (look.data === true) return <StateMark state="done" word="The memo is there, signed by the vault" />;
  if (look.data === false) return <StateMark state="failed" word="No such memo in this transaction" />;
  return look.error ? 'The cluster does not answer this page' : <StateMark state="running" word="Looking" />;
}
