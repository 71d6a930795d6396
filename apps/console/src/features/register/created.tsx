import type { RegisteredProject } from '@flywheel/api';
import { type PinPlace, type RegistrationTerms, verifyRegistered } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { keepRegistration } from '../../lib/pins.ts';
import { initSample, nameSample } from '../../lib/samples.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';
import { Ring } from '../../ui/ring.tsx';
import { DepositPanel } from '../vault/deposit-panel.tsx';
import { type RegistrationDraft, rulesOf } from './draft.ts';

/** A project that the service has created, and what the wallet signed for it. */
export interface CreatedProject {
  readonly project: RegisteredProject;
  readonly terms: RegistrationTerms;
  readonly place: PinPlace;
  readonly rpcUrl: string;
}

/**
 * Shows the API key, which is readable only once, at once. Only when the project was compared with the chain, it shows the vault
 * to fund and a first request.
 */
export function Created({
  project,
  terms,
  place,
  rpcUrl,
  draft,
}: CreatedProject & { readonly draft: RegistrationDraft }) {
  const { projectId, apiKey, vaultAddress, mintAddress } = project;
  const rules = rulesOf(draft);
  const comparison = useQuery({
    queryKey: ['registered', projectId],
    queryFn: async () => {
      await verifyRegistered(rpcUrl, terms, project);
      keepRegistration(place, terms);
      return true;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <div className="flex flex-col gap-6">
      <div className="flex items-center gap-3">
        {comparison.isSuccess && <Ring size={32} progress={1} className="text-done" />}
        <h2 className="text-lg font-semibold">
          {comparison.isSuccess ? 'Project created' : 'Store the key. Deposit nothing yet'}
        </h2>
      </div>
      {comparison.error && (
        <ErrorNotice
          error={comparison.error}
          isRetrying={comparison.isFetching}
          onRetry={() => void comparison.refetch()}
        />
      )}
      <OneTimeSecret
        name="Your API key"
        secret={apiKey}
        ifLost="If you lose it, create another one on the page API keys and revoke this one."
        nextPath={`/p/${projectId}`}
      />
      {comparison.isPending && (
        <div role="status" className="flex flex-col gap-3">
          <p>Comparing the new multisig and its vault with the chain.</p>
          <SkeletonLines count={1} className="h-48" />
        </div>
      )}
      {comparison.isSuccess && (
        <>
          <DepositPanel vault={vaultAddress} mint={mintAddress} decimals={draft.token?.decimals ?? 0} />
          <Panel title="First request">
            <CodeBlock label={nameSample(rules)} code={initSample(rules, apiKey)} />
          </Panel>
        </>
      )}
      <div className="flex flex-wrap gap-3">
        <ButtonLink to="/p/$projectId" params={{ projectId }} tone="primary">
          I have stored the key
        </ButtonLink>
      </div>
    </div>
  );
}
