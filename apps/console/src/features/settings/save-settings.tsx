import type { ProjectSettings } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { settingsQuery } from '../../lib/api/projects.ts';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';

interface SaveOptions {
  readonly projectId: string;
  /** The settings when the form is opened. */
  readonly settings: ProjectSettings;
  /** Sends the change with the settings that it starts from. */
  readonly send: (seen: ProjectSettings) => Promise<ProjectSettings>;
  readonly onDone: () => void;
}

/**
 * Saves what a form has changed, unless it was changed since by another person or tab. Then nothing is saved, and the
 * form goes on from the present settings: the next save replaces what the person has seen.
 */
export function useSaveSettings({ projectId, settings, send, onDone }: SaveOptions) {
  const queries = useQueryClient();
  const [seen, setSeen] = useState(settings);
  const readAgain = () => queries.invalidateQueries({ queryKey: ['project', projectId] });
  const save = useMutation({
    mutationFn: () => send(seen),
    onSuccess: async () => {
      await readAgain();
      onDone();
    },
    onError: async (error) => {
      if (!isFlywheelError(error, 'ERR_SETTINGS_CHANGED')) return;
      await readAgain();
      setSeen(queries.getQueryData(settingsQuery(projectId).queryKey) ?? seen);
    },
  });
  return { seen, save };
}

/** Says why nothing was saved, and what the next save does with a change that was made meanwhile. */
export function SaveError({ error }: { readonly error: Error }) {
  if (!isFlywheelError(error, 'ERR_SETTINGS_CHANGED')) return <ErrorNotice error={error} />;
  return (
    <Notice tone="failed" title="Changed meanwhile: nothing was saved">
      Another person or another tab has saved a change since you opened this form; the change history shows it. Save
      again to replace it with what stands here, or cancel to keep it.
    </Notice>
  );
}
