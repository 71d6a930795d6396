import type { AdmissionRequest, ProjectOverview } from '@flywheel/api';
import { address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { changeAdmission } from '../../lib/api/company.ts';
import { projectQuery } from '../../lib/api/projects.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';
import { MintRisk, useMint } from '../project/mint-risk.tsx';
import { DecisionForm } from './decision.tsx';

export interface AdmissionSwitchProps {
  readonly projectId: string;
  /** Display name of the project. */
  readonly name: string;
  readonly isAdmitted: boolean;
}

/** Admits a project, or withdraws its admission, with a signature of the operator’s wallet. */
export function AdmissionSwitch({ projectId, name, isAdmitted }: AdmissionSwitchProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const verb = isAdmitted ? 'Withdraw admission' : 'Admit';
  return (
    <>
      <Button
        size="small"
        tone={isAdmitted ? 'plain' : 'primary'}
        aria-label={isAdmitted ? `Withdraw admission of ${name}` : `Admit ${name}`}
        onClick={() => setOpen(true)}
      >
        {verb}
      </Button>
      <Dialog
        title={isAdmitted ? `Withdraw the admission of ${name}?` : `Admit ${name}?`}
        isOpen={isOpen}
        onClose={close}
      >
        <AdmissionForm projectId={projectId} decision={isAdmitted ? 'withdraw' : 'admit'} onClose={close} />
      </Dialog>
    </>
  );
}

interface AdmissionFormProps {
  readonly projectId: string;
  readonly decision: AdmissionRequest['decision'];
  readonly onClose: () => void;
}

function AdmissionForm({ projectId, ...rest }: AdmissionFormProps) {
  const project = useQuery(projectQuery(projectId));
  return (
    <QueryView query={project} skeleton={<SkeletonLines count={4} />}>
      {(found) => <SignAdmission project={found} {...rest} />}
    </QueryView>
  );
}

function SignAdmission({
  project,
  decision,
  onClose,
}: Omit<AdmissionFormProps, 'projectId'> & { readonly project: ProjectOverview }) {
  const { id, multisig, token } = project;
  const mintOnChain = useMint(token.mint);
  const mint = mintOnChain.data;
  const subject = {
    type: 'admission',
    decision,
    multisig: address(multisig.address),
    wallet: address(multisig.wallet),
    mint: address(token.mint),
  } as const;
  return (
    <DecisionForm
      // The risk of the token is shown before the operator can admit the project.
      subject={decision === 'admit' && mint === undefined ? null : subject}
      verb={decision === 'admit' ? 'Sign and admit' : 'Sign and withdraw'}
      tone={decision === 'admit' ? 'primary' : 'danger'}
      send={(signature) => changeAdmission(id, { ...signature, decision })}
      onDecided={onClose}
      onClose={onClose}
    >
      <p>
        {decision === 'admit'
          ? 'The project can create batches, and the company locks SOL for each of them. Confirm with the project, through another channel, that this wallet and this token are its own.'
          : 'The project can create no more batches. Batches that are set up can still be executed or cancelled, and the project can withdraw from its vault.'}
      </p>
      {decision === 'admit' && <MintRisk mint={token.mint} />}
      {decision === 'admit' && mintOnChain.error && (
        <ErrorNotice error={mintOnChain.error} onRetry={() => void mintOnChain.refetch()} />
      )}
      <DescriptionList
        items={[
          { name: 'Wallet', value: <AddressText address={multisig.wallet} of="wallet" /> },
          { name: 'Token', value: <AddressText address={token.mint} of="mint" isLinked /> },
          ...(mint === undefined
            ? []
            : [
                { name: 'Can create more tokens', value: <Authority address={mint.mintAuthority} /> },
                { name: 'Can freeze accounts', value: <Authority address={mint.freezeAuthority} /> },
              ]),
          { name: 'Multisig', value: <AddressText address={multisig.address} of="multisig" isLinked /> },
        ]}
      />
    </DecisionForm>
  );
}

function Authority({ address: of }: { readonly address: string | null }) {
  return of === null ? 'Nobody' : <AddressText address={of} of="authority" isLinked />;
}
