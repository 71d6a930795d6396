import type { ReactNode } from 'react';
import { SecretOnce } from '../../../ui/copy/secret-once.tsx';
import { Button } from '../../../ui/form/button.tsx';

export interface WebhookSecretProps {
  readonly secret: string;
  /** What to do with it. */
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** A webhook’s secret, shown this once. */
export function WebhookSecret({ secret, children, onClose }: WebhookSecretProps) {
  return (
    <div className="flex flex-col gap-4">
      <SecretOnce
        name="The secret"
        secret={secret}
        kept="It is not stored here."
        ifLost="Lost it? Replace it by another."
      />
      <p>{children}</p>
      <div>
        <Button onClick={onClose}>I have stored it</Button>
      </div>
    </div>
  );
}
