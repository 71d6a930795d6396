import type { CompanyTerms, ProjectOverview } from '@flywheel/api';
import { address, describeTerms, type TermsDecision, toBaseUnitTerms } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { changeAdmission } from '../../lib/api/company.ts';
import { projectQuery, settingsQuery } from '../../lib/api/projects.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';
import { useMint } from '../project/mint-risk.tsx';
import { DecisionForm } from './decision.tsx';
import { SignedToken, useHasTrueDecimals } from './signed-token.tsx';

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
        {isAdmitted ? (
          <WithdrawalForm projectId={projectId} onClose={close} />
        ) : (
          <AdmissionForm projectId={projectId} onClose={close} />
        )}
      </Dialog>
    </>
  );
}

interface AdmissionFormProps {
  readonly projectId: string;
  readonly onClose: () => void;
}

function WithdrawalForm({ projectId, onClose }: AdmissionFormProps) {
  return (
    <QueryView query={useQuery(projectQuery(projectId))} skeleton={<SkeletonLines count={4} />}>
      {(project) => (
        <DecisionForm
          subject={{ ...subjectOf(project), terms: null }}
          verb="Sign and withdraw"
          tone="danger"
          send={(signature) => changeAdmission(projectId, { ...signature, terms: null })}
          onDecided={onClose}
          onClose={onClose}
        >
          <p>
            The project can create no more batches. Batches that are set up can still be executed or cancelled, and the
            project can withdraw from its vault.
          </p>
          <DescriptionList items={[walletOf(project)]} />
          <SignedToken project={project} />
        </DecisionForm>
      )}
    </QueryView>
  );
}

function AdmissionForm({ projectId, onClose }: AdmissionFormProps) {
  const project = useQuery(projectQuery(projectId));
  const settings = useQuery(settingsQuery(projectId));
  return (
    <QueryView query={project} skeleton={<SkeletonLines count={4} />}>
      {(found) => (
        <QueryView query={settings} skeleton={<SkeletonLines count={4} />}>
          {({ companyTerms }) => <SignAdmission project={found} terms={companyTerms} onClose={onClose} />}
        </QueryView>
      )}
    </QueryView>
  );
}

interface SignAdmissionProps {
  readonly project: ProjectOverview;
  readonly terms: CompanyTerms;
  readonly onClose: () => void;
}

function SignAdmission({ project, terms, onClose }: SignAdmissionProps) {
  const mint = useMint(project.token.mint).data;
  const hasTrueDecimals = useHasTrueDecimals(project.token);
  const subject = { ...subjectOf(project), terms: toBaseUnitTerms(terms, project.token.decimals) };
  return (
    <DecisionForm
      // The risk of the token is shown before the operator can admit the project, and its decimals are compared.
      subject={hasTrueDecimals ? subject : null}
      verb="Sign and admit"
      send={(signature) => changeAdmission(project.id, { ...signature, terms })}
      onDecided={onClose}
      onClose={onClose}
    >
      <p>
        The project can create batches, and the company locks SOL for each of them. Confirm with the project, through
        another channel, that this wallet and this token are its own.
      </p>
      <Terms token={subject.token} to={subject.terms} />
      <SignedToken project={project} />
      <DescriptionList
        items={[
          walletOf(project),
          ...(mint === undefined
            ? []
            : [
                { name: 'Can create more tokens', value: <Authority address={mint.mintAuthority} /> },
                { name: 'Can freeze accounts', value: <Authority address={mint.freezeAuthority} /> },
              ]),
        ]}
      />
    </DecisionForm>
  );
}

/** Shows the terms with the lines that the operator signs. With manual approval, the amounts do not count yet. */
function Terms(terms: Pick<TermsDecision, 'token' | 'to'>) {
  const [mode, ...amounts] = describeTerms(terms);
  const isManual = terms.to.approvalMode === 'manual';
  return (
    <section className="flex flex-col gap-1">
      <h3 className="font-medium">
        {isManual
          ? 'An operator of the company approves every batch'
          : 'What the company then approves without a person'}
      </h3>
      <p>{mode}</p>
      {isManual && <p>If the approval becomes automatic later, the company approves this without a person:</p>}
      <ul>
        {amounts.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
}

function subjectOf({ multisig, token: { mint, decimals } }: ProjectOverview) {
  const token = { mint: address(mint), decimals };
  return { type: 'admission', multisig: address(multisig.address), wallet: address(multisig.wallet), token } as const;
}

function walletOf({ multisig }: ProjectOverview) {
  return { name: 'Wallet', value: <AddressText address={multisig.wallet} of="wallet" isWhole /> };
}

function Authority({ address: of }: { readonly address: string | null }) {
  return of === null ? 'None' : <AddressText address={of} of="authority" isLinked isWhole />;
}
