import { type ProjectOverview, type Rotation, rotationMessage } from '@flywheel/api';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import { companyQuery } from '../../lib/api/company.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { rotateCompany, rotateWallet, rotationsQuery } from '../../lib/api/treasury.ts';
import { useSession } from '../../lib/session.ts';
import { signMessage } from '../../lib/wallet/signing.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';

/** Who votes for the project’s batches, and the way to put another in the place of either. */
export function ApproversPanel({ project }: { readonly project: ProjectOverview }) {
  const [isChanging, setChanging] = useState(false);
  const mayChange = useOwnsProject(project.id);
  const { data } = useQuery(rotationsQuery(project.id));
  const rotations = data?.rotations ?? [];
  const open = rotations.find(({ dateEnded }) => dateEnded === undefined);
  const { wallet, company } = project.multisig;
  return (
    <Panel title="Who approves">
      <div className="flex flex-col gap-4">
        <dl className="divide-y">
          <Approver name="The project’s wallet" address={wallet}>
            {mayChange && !open && !isChanging && (
              <Button size="small" onClick={() => setChanging(true)}>
                Replace it
              </Button>
            )}
          </Approver>
          <Approver name="The company’s approver" address={company}>
            {!open && <RotateCompanyButton projectId={project.id} present={company} />}
          </Approver>
        </dl>
        {open && <OpenRotation projectId={project.id} batchId={open.batchId} isOwner={mayChange} />}
        {isChanging && !open && <RotateWalletForm project={project} onClose={() => setChanging(false)} />}
        <RotationList projectId={project.id} rotations={rotations} />
      </div>
    </Panel>
  );
}

interface ApproverProps {
  readonly name: string;
  readonly address: string;
  readonly children: React.ReactNode;
}

function Approver({ name, address, children }: ApproverProps) {
  return (
    <div className="flex min-h-12 flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2">
      <dt className="text-quiet">{name}</dt>
      <dd className="flex items-center gap-3">
        <AddressText address={address} of={name} isLinked />
        {children}
      </dd>
    </div>
  );
}

interface OpenRotationProps {
  readonly projectId: string;
  readonly batchId: string;
  readonly isOwner: boolean;
}

function OpenRotation({ projectId, batchId, isOwner }: OpenRotationProps) {
  return (
    <Notice
      tone="waiting"
      title="One of them is being replaced"
      action={
        isOwner ? (
          <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId }} size="small">
            Review and approve
          </ButtonLink>
        ) : (
          <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
            Open it
          </ButtonLink>
        )
      }
    >
      Until that has ended no batch can be made: it could never be approved. Cancel it to leave everything as it is.
    </Notice>
  );
}

interface RotateCompanyButtonProps {
  readonly projectId: string;
  /** Who votes for the company in this project. */
  readonly present: string;
}

/** For an operator of the company, where the service signs with another approver than the project knows. */
function RotateCompanyButton({ projectId, present }: RotateCompanyButtonProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const company = useQuery({ ...companyQuery, enabled: isOperator });
  const queries = useQueryClient();
  const rotate = useMutation({
    mutationFn: () => rotateCompany(projectId, crypto.randomUUID()),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  if (!isOperator || company.data === undefined || company.data.company === present) return null;
  return (
    <>
      <Button size="small" isBusy={rotate.isPending} onClick={() => rotate.mutate()}>
        Replace it by the service’s
      </Button>
      {rotate.error && <ErrorNotice error={rotate.error} />}
    </>
  );
}

interface RotateWalletFormProps {
  readonly project: ProjectOverview;
  readonly onClose: () => void;
}

/** Another wallet for the project: its address, and its word that it takes over. */
function RotateWalletForm({ project, onClose }: RotateWalletFormProps) {
  const [to, setTo] = useState('');
  const [pasted, setPasted] = useState('');
  const { id: projectId, wallet: from } = project;
  const problem = walletProblem(to, project);
  const text = rotationMessage({ projectId, multisig: project.multisig.address, from, to });
  const ask = useRotate(projectId);
  const isReady = to !== '' && problem === null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) ask.mutate({ to, text, pasted });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4 border-t pt-4">
      <p>
        The new wallet signs that it takes over, then this one and the company approve. From then on the project is the
        new wallet’s: sign in with that. Limits and the vault stay as they are. API keys go on working: revoke those
        that you would not trust any more.
      </p>
      <TextField
        label="Address of the new wallet"
        value={to}
        onChange={({ target }) => setTo(target.value.trim())}
        error={to === '' ? null : problem}
        hint="It may be another account of the wallet in this browser."
        required
      />
      {isReady && (
        <>
          <CodeBlock label="What the new wallet signs" code={text} />
          <TextField
            label="Its signature, if it is not in this browser"
            value={pasted}
            onChange={({ target }) => setPasted(target.value.trim())}
            hint="Base58, over exactly the text above. Leave it empty to be asked here."
          />
        </>
      )}
      {ask.error && <ErrorNotice error={ask.error} />}
      <div className="flex flex-wrap gap-3">
        <Button type="submit" isBusy={ask.isPending} disabled={!isReady}>
          {pasted === '' ? 'Sign with the new wallet' : 'Go on with this signature'}
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Leave it as it is
        </Button>
      </div>
    </form>
  );
}

interface Request {
  readonly to: string;
  readonly text: string;
  /** Empty: to be asked of a wallet in this browser. */
  readonly pasted: string;
}

function useRotate(projectId: string) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ to, text, pasted }: Request) => {
      const signature = pasted === '' ? await signMessage(to, text) : pasted;
      return rotateWallet(projectId, crypto.randomUUID(), { newWallet: to, signature });
    },
    onSuccess: async ({ batchId }) => {
      void queries.invalidateQueries({ queryKey: ['project', projectId] });
      await navigate({ to: '/p/$projectId/approve/$batchId', params: { projectId, batchId } });
    },
  });
}

function walletProblem(text: string, { multisig }: ProjectOverview): string | null {
  if (!isAddress(text)) return 'A Solana address: 32 to 44 letters and digits.';
  if (isOffCurveAddress(text)) return 'No wallet has this address: it belongs to a program.';
  const members: readonly string[] = [multisig.wallet, multisig.company, multisig.operator];
  return members.includes(text) ? 'This one is a member of the multisig already.' : null;
}

interface RotationListProps {
  readonly projectId: string;
  readonly rotations: readonly Rotation[];
}

/** Who has replaced whom, newest first; nothing where nobody has. */
function RotationList({ projectId, rotations }: RotationListProps) {
  if (rotations.length === 0) return null;
  return (
    <ul aria-label="Replacements" className="flex flex-col divide-y border-t text-sm">
      {rotations.map(({ batchId, approver, from, to, status, dateCreated }) => (
        <li key={batchId} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
          <TimeText at={dateCreated} form="day" />
          <span>{approver === 'wallet' ? 'Wallet' : 'Company’s approver'}</span>
          <AddressText address={from} of="the one before" />
          <span aria-hidden>→</span>
          <AddressText address={to} of="the one since" />
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId }}
            className="ml-auto text-accent underline underline-offset-2"
          >
            {WORDS[status]}
          </Link>
        </li>
      ))}
    </ul>
  );
}

const WORDS = {
  AVAILABLE_TO_QUEUE: 'being set up',
  FINALIZED: 'to be approved',
  EXECUTED: 'done',
  FAILED: 'not done',
} as const satisfies { readonly [S in Rotation['status']]: string };
