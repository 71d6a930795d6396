import type { RegisteredProject } from '@flywheel/api';
import { useEffect } from 'react';
import { ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Panel } from '../../ui/layout.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';
import { Ring } from '../../ui/ring.tsx';
import { DepositPanel } from '../vault/deposit-panel.tsx';
import type { RegistrationDraft } from './draft.ts';

export interface CreatedProps {
  readonly project: RegisteredProject;
  readonly draft: RegistrationDraft;
}

/** The key, shown this once; the vault to fund; the first call. */
export function Created({ project, draft }: CreatedProps) {
  const { projectId, apiKey, vaultAddress, mintAddress } = project;
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, []);
  return (
    <div className="flex flex-col gap-6">
      <div className="flex items-center gap-3">
        <Ring size={32} progress={1} className="text-done" />
        <h2 className="text-lg font-semibold">The project is registered.</h2>
      </div>
      <OneTimeSecret
        name="Your API key"
        secret={apiKey}
        ifLost="Lost it? Create another on the Keys screen and revoke this one."
      />
      <DepositPanel vault={vaultAddress} mint={mintAddress} decimals={draft.token?.decimals ?? 0} />
      <Panel title="The first call">
        <CodeBlock
          label="Compiles a batch of one burn"
          code={firstCall(apiKey, draft.proofTypes[0]?.type ?? 'WATCH_AD')}
        />
      </Panel>
      <div className="flex flex-wrap gap-3">
        <ButtonLink to="/p/$projectId" params={{ projectId }} tone="primary">
          I have stored the key
        </ButtonLink>
      </div>
    </div>
  );
}

function firstCall(apiKey: string, type: string): string {
  return `curl ${location.origin}/v1/flywheel/batch/init \\
  -H "x-service-api-key: ${apiKey}" \\
  -H "x-idempotency-key: $(uuidgen)" \\
  --json '{"pipelines":[{"type":"${type}","payload":"{\\"event\\":\\"1\\"}","actions":[{"action":"BURN","amount":1}]}]}'`;
}
