import { CopyButton } from './copy.tsx';
import { useHeldDialog } from './dialog.tsx';
import { Notice } from './feedback.tsx';
import { useLeaveQuestion } from './leave-question.ts';

export interface OneTimeSecretProps {
  readonly name: string;
  readonly secret: string;
  /** Says what the service keeps of the secret. */
  readonly storage?: string;
  /** Says what to do if the secret is lost. */
  readonly ifLost: string;
  /** Start of the path to which the person goes once it is stored; without it, any other screen takes the secret away. */
  readonly nextPath?: string;
}

/**
 * Shows a secret that cannot be read again later. A dialog around it closes only by its own button; leaving it is asked
 * about.
 */
export function OneTimeSecret({
  name,
  secret,
  storage = 'The service keeps only its hash.',
  ifLost,
  nextPath,
}: OneTimeSecretProps) {
  useHeldDialog();
  useLeaveQuestion({ question: `${name} is shown only once. Leave without it?`, nextPath });
  return (
    <Notice tone="waiting" title={`${name}. Copy it now: it is shown only once`}>
      <div className="my-2 flex flex-wrap items-center gap-2">
        <code
          data-testid="secret"
          className="min-w-0 rounded border bg-raised px-2 py-1.5 font-mono text-xs break-all select-all"
        >
          {secret}
        </code>
        <CopyButton text={secret} />
      </div>
      <p>
        {storage} {ifLost}
      </p>
    </Notice>
  );
}
