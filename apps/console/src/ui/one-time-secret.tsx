import { CopyButton } from './copy.tsx';
import { Notice } from './feedback.tsx';

export interface OneTimeSecretProps {
  readonly name: string;
  readonly secret: string;
  /** What is known of it here from now on. */
  readonly kept?: string;
  /** What to do when it is lost. */
  readonly ifLost: string;
}

/** A secret that is shown once and can never be read again. */
export function OneTimeSecret({ name, secret, kept = 'Only its hash is kept here.', ifLost }: OneTimeSecretProps) {
  return (
    <Notice tone="waiting" title={`${name}, shown this once`}>
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
        {kept} {ifLost}
      </p>
    </Notice>
  );
}
