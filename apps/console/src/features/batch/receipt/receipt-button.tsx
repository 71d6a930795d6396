import type { BatchDetail } from '@flywheel/api';
import { Download } from 'lucide-react';
import { explorerLink } from '../../../app/explorer.ts';
import { useEnvironment } from '../../../lib/service/environment.ts';
import { Button } from '../../../ui/form/button.tsx';
import { writeReceipt } from './write-receipt.ts';

/** Downloads who got what by which transaction; only where a batch airdrops. */
export function ReceiptButton({ batch: { batch, pipelines } }: { readonly batch: BatchDetail }) {
  const environment = useEnvironment();
  if (!pipelines.some(({ actions }) => actions.some(({ action }) => action === 'AIRDROP'))) return null;
  const download = () => {
    const text = writeReceipt({
      pipelines,
      linkOf: (signature) => explorerLink(environment, 'signature', signature),
    });
    const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `airdrops-of-batch-${batch.batchIndex}.csv`;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Button onClick={download}>
      <Download size={15} aria-hidden /> Receipt
    </Button>
  );
}
