import type { ProjectOverview, VaultFunds } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { toFinestUnits, toSol } from '../../lib/amounts.ts';
import { projectQuery, usageQuery } from '../../lib/api/projects.ts';
import { pluralize, tokenUnit } from '../../lib/format.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Table } from '../../ui/table.tsx';
import { AmountText } from '../../ui/text.tsx';
import { DepositPanel } from './deposit-panel.tsx';
import { MovementsPanel } from './movements-panel.tsx';
import { WithdrawPanel } from './withdraw-panel.tsx';

/** What the project pays with: how much there is, what is missing, how to add to it, what came and went. */
export function VaultScreen() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  const address = project.data?.vaultAddress;
  return (
    <Page
      title="Vault"
      lead="Nothing leaves it without your wallet’s vote and the company’s."
      action={
        address !== undefined && (
          <ButtonLink to="/vault/$address" params={{ address }}>
            Public page
          </ButtonLink>
        )
      }
    >
      <QueryView query={project} skeleton={<VaultSkeleton />}>
        {(found) => <VaultPanels project={found} />}
      </QueryView>
    </Page>
  );
}

function VaultPanels({ project }: { readonly project: ProjectOverview }) {
  const { token, vaultAddress: vault, vaultTokenAccount: tokenAccount } = project;
  const { mint, decimals } = token;
  return (
    <>
      <FundsPanel project={project} />
      <DepositPanel vault={vault} mint={mint} decimals={decimals} />
      <WithdrawPanel project={project} />
      <MovementsPanel accounts={{ vault, tokenAccount }} decimals={decimals} unit={tokenUnit(token)} />
    </>
  );
}

function VaultSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <SkeletonLines count={1} className="h-56" />
      <SkeletonLines count={1} className="h-64" />
      <SkeletonLines count={1} className="h-64" />
    </div>
  );
}

/** What the vault holds, what the open batches need of it, what is missing, and how long the tokens last. */
function FundsPanel({ project }: { readonly project: ProjectOverview }) {
  const { funds, token } = project;
  return (
    <Panel title="What it holds" isFlush>
      {funds ? (
        <FundsTable funds={funds} unit={tokenUnit(token)} />
      ) : (
        <div className="p-4">
          <Notice tone="failed" title="The cluster does not answer, so nobody knows what the vault holds">
            Nothing is lost: balances are on chain. This page asks again by itself.
          </Notice>
        </div>
      )}
      {funds && <Runway project={project} available={funds.tokens.available} />}
    </Panel>
  );
}

interface Row {
  readonly unit: string;
  readonly available: string;
  readonly needed: string;
  readonly missing: string;
}

function FundsTable({ funds, unit }: { readonly funds: VaultFunds; readonly unit: string }) {
  const { lamports, tokens } = funds;
  const rows: readonly Row[] = [
    { unit, ...tokens },
    {
      unit: 'SOL',
      available: toSol(lamports.available),
      needed: toSol(lamports.needed),
      missing: toSol(lamports.missing),
    },
  ];
  return (
    <Table
      label="What the vault holds"
      rows={rows}
      keyOf={(row) => row.unit}
      columns={[
        { name: 'Of', isPlain: true, render: (row) => <span className="font-medium">{row.unit}</span> },
        {
          name: 'Available',
          isAmount: true,
          render: (row) => (
            <span className="text-lg font-semibold">
              <AmountText amount={row.available} />
            </span>
          ),
        },
        { name: 'Needed by open batches', isAmount: true, render: (row) => <AmountText amount={row.needed} /> },
        {
          name: 'Missing',
          isAmount: true,
          render: ({ missing }) =>
            missing === '0' ? (
              <StatusBadge status="done" label="Nothing" />
            ) : (
              <span className="inline-flex items-center gap-2">
                <StatusBadge status="failed" label="Deposit" />
                <span className="font-semibold text-failed">
                  <AmountText amount={missing} />
                </span>
              </span>
            ),
        },
      ]}
    />
  );
}

const PACE_DAYS = 30;

/** How long the tokens last at the pace of the last month; nothing when nothing was used. */
function Runway({ project, available }: { readonly project: ProjectOverview; readonly available: string }) {
  const { data: usage } = useQuery(usageQuery(project.id, PACE_DAYS));
  const used = (usage?.days ?? []).reduce(
    (sum, day) => sum + toFinestUnits(day.burned) + toFinestUnits(day.airdropped),
    0n,
  );
  const days = used > 0n ? (toFinestUnits(available) * BigInt(PACE_DAYS)) / used : null;
  return (
    <p className="min-h-10 border-t px-4 py-2.5 text-sm text-quiet">
      {days === null
        ? 'Nothing was burned or airdropped in the last 30 days.'
        : `At the pace of the last ${PACE_DAYS} days the tokens last ${days === 0n ? 'less than a day' : pluralize(Number(days), 'day')}.`}
    </p>
  );
}
