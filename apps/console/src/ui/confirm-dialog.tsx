import { useMutation } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog, DialogButtons, useHeldDialog } from './dialog.tsx';
import { ErrorNotice } from './feedback.tsx';
import { TextField } from './fields.tsx';

export interface ConfirmDialogProps {
  readonly title: string;
  /** Says what the action does and that it cannot be undone. */
  readonly children: ReactNode;
  /** Name of the affected thing, which the person must type. */
  readonly name: string;
  readonly verb: string;
  /** Label of the button that closes the dialog; `Cancel` by default, and another one where `verb` cancels something. */
  readonly dismissLabel?: string;
  /** Says what the dialog waits for, if the action may take longer than a moment. */
  readonly pendingText?: string;
  readonly isOpen: boolean;
  /** Does the action; the dialog stays open until then, and shows its error. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Confirms an action that cannot be undone by asking for the name of the affected thing. */
export function ConfirmDialog({ title, isOpen, onClose, ...rest }: ConfirmDialogProps) {
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <ConfirmForm onClose={onClose} {...rest} />
    </Dialog>
  );
}

function ConfirmForm({
  children,
  name,
  verb,
  dismissLabel = 'Cancel',
  pendingText,
  onConfirm,
  onClose,
}: Omit<ConfirmDialogProps, 'title' | 'isOpen'>) {
  const [typed, setTyped] = useState('');
  const action = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  useHeldDialog(action.isPending);
  const isSame = asShown(typed) === asShown(name);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isSame) action.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <div>{children}</div>
      <TextField label={`Type “${name}” to confirm`} value={typed} onChange={({ target }) => setTyped(target.value)} />
      {action.isPending && pendingText !== undefined && <p role="status">{pendingText}</p>}
      {action.error && <ErrorNotice error={action.error} />}
      <DialogButtons>
        <Button type="submit" tone="danger" isBusy={action.isPending} disabled={!isSame}>
          {verb}
        </Button>
        <Button disabled={action.isPending} onClick={onClose}>
          {dismissLabel}
        </Button>
      </DialogButtons>
    </form>
  );
}

/**
 * A text as a page shows it: without spaces at its ends, and with one for several, because a phone adds one after a word; without
 * marks that are not seen, such as those of a direction; and with each accent in the one form that a keyboard types.
 */
function asShown(text: string): string {
  return text
    .normalize('NFC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .replace(/\s+/g, ' ');
}
