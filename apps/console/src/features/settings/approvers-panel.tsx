import { type ProjectOverview, type Rotation, rotationMessage } from '@flywheel/api';
import { encodeBase58 } from '@flywheel/protocol';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import { serviceKeysQuery } from '../../lib/api/company.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { useSession } from '../../lib/api/session.ts';
import { rotateCompany, rotateOperator, rotateWallet, rotationsQuery } from '../../lib/api/treasury.ts';
import { walletAddressError } from '../../lib/wallet/address.ts';
import { signMessage } from '../../lib/wallet/signing.ts';
import { useWalletRequest, type WalletRequest } from '../../lib/wallet/wallet-request.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';

/** Shows the members of the project’s multisig, who approve its batches or execute them, and replaces them. */
export function ApproversPanel({ project }: { readonly project: ProjectOverview }) {
  const [isChanging, setChanging] = useState(false);
  const isOwner = useOwnsProject(project.id);
  const read = useQuery(rotationsQuery(project.id));
  const rotations = read.data?.rotations ?? [];
  const open = rotations.find(({ dateEnded }) => dateEnded === undefined);
  // Until the open one is known, if there is any, no other can be asked for.
  const canReplace = read.data !== undefined && !open;
  const { wallet, company, operator, recovery } = project.multisig;
  return (
    <Panel title="Approvers">
      <div className="flex flex-col gap-4">
        <dl className="divide-y">
          <Approver name="Project wallet" address={wallet}>
            {isOwner && canReplace && !isChanging && (
              <Button size="small" onClick={() => setChanging(true)}>
                Replace
              </Button>
            )}
          </Approver>
          <Approver name="Company approver" address={company}>
            {canReplace && <RotateByCompanyButton projectId={project.id} member="company" current={company} />}
          </Approver>
          <Approver name="Operator, without a vote" address={operator}>
            {canReplace && <RotateByCompanyButton projectId={project.id} member="operator" current={operator} />}
          </Approver>
          {recovery !== undefined && <Approver name="Recovery key, without a vote" address={recovery} />}
        </dl>
        {open && <OpenRotation projectId={project.id} batchId={open.batchId} isOwner={isOwner} />}
        {isChanging && !open && <RotateWalletForm project={project} onClose={() => setChanging(false)} />}
        {read.data === undefined && read.error && (
          <ErrorNotice error={read.error} isRetrying={read.isFetching} onRetry={() => void read.refetch()} />
        )}
        <RotationList projectId={project.id} rotations={rotations} />
      </div>
    </Panel>
  );
}

interface ApproverProps {
  readonly name: string;
  readonly address: string;
  readonly children?: React.ReactNode;
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
      title="A member of the multisig is being replaced"
      action={
        isOwner ? (
          <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId }} size="small">
            Review and approve
          </ButtonLink>
        ) : (
          <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
            View replacement
          </ButtonLink>
        )
      }
    >
      Batches continue until both sides have approved the replacement. Then no new batch is accepted until the open ones
      have ended and the replacement is executed; batches that are not approved in time end. To keep the current member,
      cancel it.
    </Notice>
  );
}

interface RotateByCompanyButtonProps {
  readonly projectId: string;
  readonly member: 'company' | 'operator';
  /** The key that the project’s multisig has as this member. */
  readonly current: string;
}

/** Replaces a key of the service; shown to a company operator if the service uses another one than the project. */
function RotateByCompanyButton({ projectId, member, current }: RotateByCompanyButtonProps) {
  const isOperator = useSession()?.isCompanyOperator === true;
  const keys = useQuery({ ...serviceKeysQuery(projectId), enabled: isOperator });
  const queries = useQueryClient();
  const rotate = useMutation({
    mutationFn: () => (member === 'company' ? rotateCompany : rotateOperator)(projectId, crypto.randomUUID()),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  const present = keys.data?.[member];
  if (!isOperator || present === undefined || present === current) return null;
  return (
    <>
      <Button size="small" isBusy={rotate.isPending} onClick={() => rotate.mutate()}>
        Replace with the service’s {member === 'company' ? 'approver' : 'operator'}
      </Button>
      {rotate.error && <ErrorNotice error={rotate.error} />}
    </>
  );
}

interface RotateWalletFormProps {
  readonly project: ProjectOverview;
  readonly onClose: () => void;
}

/** Replaces the project’s wallet: asks for the new address and for the new wallet’s signature. */
function RotateWalletForm({ project, onClose }: RotateWalletFormProps) {
  const [to, setTo] = useState('');
  const [pasted, setPasted] = useState('');
  const { id: projectId, wallet: from } = project;
  const error = newWalletError(to, project);
  const text = rotationMessage({ projectId, multisig: project.multisig.address, from, to });
  const request = useWalletRequest();
  const navigate = useNavigate();
  const ask = useRotate(projectId, request);
  const isReady = to !== '' && error === null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!isReady) return;
    ask.mutate(
      { to, text, pasted },
      // Given here, it is not called for a person who has left this form meanwhile.
      {
        onSuccess: ({ batchId }) =>
          void navigate({ to: '/p/$projectId/approve/$batchId', params: { projectId, batchId } }),
      },
    );
  };
  const cancel = () => {
    request.stop();
    onClose();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4 border-t pt-4">
      <p>
        The new wallet signs a message, then this wallet and the company approve the change. After that the project
        belongs to the new wallet: sign in with it. Limits and the vault do not change. API keys keep working; revoke
        those you no longer trust.
      </p>
      <TextField
        label="Address of the new wallet"
        value={to}
        onChange={({ target }) => setTo(target.value.trim())}
        error={to === '' ? null : error}
        hint="It can be another account of the wallet in this browser."
        required
      />
      {isReady && (
        <>
          <CodeBlock label="Message that the new wallet signs" code={text} />
          <TextField
            label="Signature of the new wallet (only if it is not in this browser)"
            value={pasted}
            onChange={({ target }) => setPasted(target.value.trim())}
            hint="Base58, over exactly the message above. Leave this empty to sign in this browser."
          />
        </>
      )}
      {ask.error && <ErrorNotice error={ask.error} />}
      <div className="flex flex-wrap gap-3">
        <Button type="submit" isBusy={ask.isPending} disabled={!isReady}>
          {pasted === '' ? 'Sign with the new wallet' : 'Continue with this signature'}
        </Button>
        <Button tone="quiet" onClick={cancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

interface RotationInput {
  readonly to: string;
  readonly text: string;
  /** Signature in base58; if empty, a wallet in this browser signs. */
  readonly pasted: string;
}

function useRotate(projectId: string, request: WalletRequest) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ to, text, pasted }: RotationInput) => {
      const signature = pasted === '' ? await request.ask(signWithNewWallet(to, text)) : pasted;
      return rotateWallet(projectId, crypto.randomUUID(), { newWallet: to, signature });
    },
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
}

/** @returns the signature, base58. */
async function signWithNewWallet(to: string, text: string): Promise<string> {
  const { signature } = await signMessage(to, text, 'Sign the text elsewhere and paste the signature.');
  return encodeBase58(signature);
}

function newWalletError(text: string, { multisig }: ProjectOverview): string | null {
  const { wallet, company, operator, recovery } = multisig;
  const members: readonly (string | undefined)[] = [wallet, company, operator, recovery];
  return members.includes(text) ? 'This address is already a member of the multisig.' : walletAddressError(text);
}

interface RotationListProps {
  readonly projectId: string;
  readonly rotations: readonly Rotation[];
}

/** Lists the replacements, newest first; hidden if there are none. */
function RotationList({ projectId, rotations }: RotationListProps) {
  if (rotations.length === 0) return null;
  return (
    <ul aria-label="Replacements" className="flex flex-col divide-y border-t text-sm">
      {rotations.map(({ batchId, approver, from, to, status, dateCreated }) => (
        <li key={batchId} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2">
          <TimeText at={dateCreated} form="day" />
          <span>{MEMBER_WORDS[approver]}</span>
          <AddressText address={from} of="previous member" />
          <span aria-hidden>→</span>
          <AddressText address={to} of="new member" />
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId }}
            className="ml-auto text-accent underline underline-offset-2"
          >
            {STATUS_WORDS[status]}
          </Link>
        </li>
      ))}
    </ul>
  );
}

const MEMBER_WORDS = {
  wallet: 'Project wallet',
  company: 'Company approver',
  operator: 'Operator',
} as const satisfies { readonly [A in Rotation['approver']]: string };

const STATUS_WORDS = {
  AVAILABLE_TO_QUEUE: 'Setting up',
  FINALIZED: 'Waiting for approval',
  EXECUTED: 'Replaced',
  FAILED: 'Failed',
} as const satisfies { readonly [S in Rotation['status']]: string };
