import { AUDIT_NODE_PARAMETER, parseNodeOrigin } from '@flywheel/api';
import { isAddress, visibleText } from '@flywheel/protocol';
import type { AuditQuery } from '@flywheel/sdk';
import { parseAuditBound } from '@flywheel/sdk/audit-findings';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { environmentQuery } from '../../lib/api/environment.ts';
import { EmptyState, Loading, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';
import { AuditForm, type AuditOrder } from './audit-form.tsx';
import { AuditView } from './audit-view.tsx';
import { type AuditDraft, recallDraft, rememberDraft } from './node-url.ts';
import { useVaultAudit } from './use-vault-audit.ts';

/**
 * Audits a vault over a period from the chain alone: this page reads the node that the visitor names. It needs no sign-in,
 * and asks the service for nothing but its environment.
 */
export function VaultAudit() {
  const { vault } = useParams({ from: '/audit/$vault' });
  const search = useSearch({ from: '/audit/$vault' });
  const environment = useQuery(environmentQuery);
  const ownNode = environment.data?.rpcUrl ?? null;
  const named = search[AUDIT_NODE_PARAMETER] ?? null;
  if (!isAddress(vault)) {
    return (
      <Page title="Audit a vault">
        <EmptyState title="Not a Solana address">
          <p>An address has 32 to 44 letters and digits. Take the vault’s address from the project.</p>
        </EmptyState>
      </Page>
    );
  }
  return (
    <Page
      title="Audit a vault"
      lead={
        <span className="flex flex-wrap items-center gap-x-2">
          <AddressText address={vault} of="vault" isLinked />
          <span>Your browser reads the chain at a node that you choose. It asks nothing of this service.</span>
        </span>
      }
    >
      {named === null && environment.isPending ? (
        <Loading>
          <SkeletonLines count={1} className="h-72" />
        </Loading>
      ) : (
        <NodeAudit key={`${vault} ${named}`} vault={vault} named={named} ownNode={ownNode} />
      )}
    </Page>
  );
}

interface NodeAuditProps {
  readonly vault: string;
  /** Origin of the node in the address; null for the cluster's. */
  readonly named: string | null;
  /** URL of the cluster's node; null if the service names none. */
  readonly ownNode: string | null;
}

function NodeAudit({ vault, named, ownNode }: NodeAuditProps) {
  const search = useSearch({ from: '/audit/$vault' });
  const navigate = useNavigate();
  const ownOrigin = ownNode === null ? null : new URL(ownNode).origin;
  const isRefused = named !== null && (parseNodeOrigin(named) === null || new URL(named).host === location.host);
  const node = isRefused ? '' : (named ?? ownOrigin ?? '');
  const { saved, progress, error, start, cancel, discard } = useVaultAudit({ vault, node });
  const remembered = recallDraft(node);

  const begin = ({ url, from, to, multisig, requestsPerSecond, isConfirmed }: AuditDraft) => {
    const [first, last] = [parseAuditBound(from, 'from'), parseAuditBound(to, 'to')];
    const period = { ...(first !== null && { from: first }), ...(last !== null && { to: last }) };
    const query: AuditQuery = { vault, ...period, ...(multisig !== '' && { multisig }) };
    const commitment = isConfirmed ? 'confirmed' : 'finalized';
    const options = { commitment, ...(requestsPerSecond !== null && { requestsPerSecond }) } as const;
    start({ rpcUrl: url, query, options, resumed: null });
  };
  const submit = async ({ origin, ...draft }: AuditOrder) => {
    const { from, to, multisig } = draft;
    const isHere = origin === node;
    rememberDraft({ ...draft, starts: isHere ? null : vault });
    // Another node needs another policy: then the page is loaded again, and begins.
    await navigate({
      to: '/audit/$vault',
      params: { vault },
      search: {
        ...(origin !== ownOrigin && { [AUDIT_NODE_PARAMETER]: origin }),
        ...(from !== '' && { from }),
        ...(to !== '' && { to }),
        ...(multisig !== '' && { multisig }),
      },
    });
    if (isHere) begin(draft);
  };
  const resume = () => {
    const audit = saved.data?.audit;
    if (!audit) return;
    const { url = named ?? ownNode ?? '', requestsPerSecond = null } = remembered ?? {};
    const options = requestsPerSecond === null ? {} : { requestsPerSecond };
    start({ rpcUrl: url, query: audit.query, options, resumed: audit });
  };

  // The button was pressed before the page was loaded for this node.
  const beginOnce = useRef(() => {
    const draft = recallDraft(node);
    if (draft?.starts !== vault) return;
    rememberDraft({ ...draft, starts: null });
    begin(draft);
  });
  useEffect(() => {
    const timer = setTimeout(beginOnce.current);
    return () => clearTimeout(timer);
  }, []);

  return (
    <>
      {isRefused && (
        <Notice
          tone="failed"
          title={`The link contains “${visibleText(named)}”, which is not the URL of a Solana node`}
        >
          <p>Enter the URL of a Solana node below.</p>
        </Notice>
      )}
      <AuditView
        {...{ saved, progress, error, cancel, resume, discard }}
        form={
          <AuditForm
            ownNode={ownNode}
            initial={{
              url: remembered?.url ?? (isRefused ? '' : (named ?? ownNode ?? '')),
              from: search.from ?? '',
              to: search.to ?? '',
              multisig: search.multisig ?? '',
              requestsPerSecond: remembered?.requestsPerSecond ?? null,
              isConfirmed: remembered?.isConfirmed ?? false,
            }}
            isBusy={progress !== null}
            isPrimary={!saved.data || saved.data.ended !== null}
            onAudit={(order) => void submit(order)}
          />
        }
      />
    </>
  );
}
