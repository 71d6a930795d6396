import type { KeySummary } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { keysQuery, revokeKey } from '../../lib/api/keys.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { keyName } from './key-name.ts';

export interface KeyDialogProps {
  readonly projectId: string;
  readonly apiKey: KeySummary;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Ends a key for good, once its name is typed. */
export function RevokeKeyDialog({ projectId, apiKey, isOpen, onClose }: KeyDialogProps) {
  const queries = useQueryClient();
  const name = keyName(apiKey);
  const revoke = useMutation({
    mutationFn: () => revokeKey(projectId, apiKey.keyId),
    onSuccess: async () => {
      await queries.invalidateQueries(keysQuery(projectId));
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Revoke ${name}?`}
      name={name}
      verb="Revoke the key"
      isOpen={isOpen}
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>
        Whoever uses <code className="text-sm">{apiKey.prefix}…</code> is refused from the next call on, and it cannot
        be undone. To change a key without a gap, rotate it instead.
      </p>
    </ConfirmDialog>
  );
}
