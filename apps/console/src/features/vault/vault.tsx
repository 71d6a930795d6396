import type { ProjectOverview, VaultFunds } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { toFinestUnits, toSol } from '../../lib/amounts.ts';
import { projectQuery, usageQuery } from '../../lib/api/projects.ts';
import { tokenUnit } from '../../lib/format.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { ErrorNotice, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { Table } from '../../ui/table.tsx';
import { AmountText } from '../../ui/text.tsx';
import { DepositPanel } from './deposit-panel.tsx';
import { EmbedPanel } from './embed-panel.tsx';
import { KnownVault } from './known-vault.tsx';
import { MovementsPanel } from './movements-panel.tsx';
import { WithdrawPanel } from './withdraw-panel.tsx';

/** The screen of a project’s vault: balance, deposit, withdrawal, history. */
export function VaultScreen() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  const address = project.data?.vaultAddress;
  return (
    <Page
      title="Vault"
      lead="Spending needs the approval of your wallet and of the company."
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
  const { decimals } = token;
  return (
    <>
      <FundsPanel project={project} />
      <KnownVault project={project} skeleton={<SkeletonLines count={1} className="h-64" />}>
        <DepositPanel vault={vault} mint={token.mint} decimals={decimals} />
      </KnownVault>
      <WithdrawPanel project={project} />
      <MovementsPanel accounts={{ vault, tokenAccount }} decimals={decimals} unit={tokenUnit(token)} />
      <EmbedPanel vault={vault} />
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

/** Shows the vault’s balance, what the open batches need, what is missing, and how long the tokens last. */
function FundsPanel({ project }: { readonly project: ProjectOverview }) {
  const { funds, token } = project;
  return (
    <Panel title="Balance" isFlush>
      {funds ? (
        <FundsTable funds={funds} unit={tokenUnit(token)} />
      ) : (
        <div className="p-4">
          <Notice tone="failed" title="The cluster does not respond: the balance is unknown">
            Your funds are safe on chain. This page retries by itself.
          </Notice>
        </div>
      )}
      {funds && <Runway project={project} available={funds.tokens.available} />}
    </Panel>
  );
}

interface FundsRow {
  readonly unit: string;
  readonly available: string;
  readonly needed: string;
  readonly missing: string;
}

function FundsTable({ funds, unit }: { readonly funds: VaultFunds; readonly unit: string }) {
  const { lamports, tokens } = funds;
  const rows: readonly FundsRow[] = [
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
      label="Vault balance"
      rows={rows}
      keyOf={(row) => row.unit}
      columns={[
        {
          name: 'Asset',
          isPlain: true,
          render: (row) => (
            <span className="inline-block font-medium">{row.unit === 'tokens' ? 'Tokens' : row.unit}</span>
          ),
        },
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
              <StatusBadge status="done" label="None" />
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
const DAY_MS = 86_400_000;
/** A pace of one month says nothing about more years. */
const MAX_RUNWAY_DAYS = 3_650n;

/** Says how long the tokens last at the pace of the last month, or since the registration of a younger project. */
function Runway({ project, available }: { readonly project: ProjectOverview; readonly available: string }) {
  const usage = useQuery(usageQuery(project.id, PACE_DAYS));
  if (usage.data === undefined) {
    return (
      <div className="min-h-10 border-t px-4 py-2.5 text-sm text-quiet">
        {usage.error && (
          <ErrorNotice error={usage.error} isRetrying={usage.isFetching} onRetry={() => void usage.refetch()} />
        )}
      </div>
    );
  }
  const paceDays = paceDaysOf(project, usage.dataUpdatedAt);
  const used = usage.data.days.reduce(
    (sum, day) => sum + toFinestUnits(day.burned) + toFinestUnits(day.airdropped),
    0n,
  );
  const days = used > 0n ? (toFinestUnits(available) * BigInt(paceDays)) / used : null;
  const past = paceDays === 1 ? 'the last day' : `the last ${paceDays} days`;
  return (
    <p className="min-h-10 border-t px-4 py-2.5 text-sm text-quiet">
      {days === null
        ? `No burns or airdrops in ${past}.`
        : `At the pace of ${past}, the tokens last ${runwayText(days)}.`}
    </p>
  );
}

/** Days that the pace is of: begun ones count, so that the first day is one. */
function paceDaysOf({ dateCreated }: ProjectOverview, nowMs: number): number {
  const age = Math.ceil((nowMs - Date.parse(dateCreated)) / DAY_MS);
  return Math.min(PACE_DAYS, Math.max(1, age));
}

function runwayText(days: bigint): string {
  if (days === 0n) return 'less than a day';
  return days > MAX_RUNWAY_DAYS ? 'over 10 years' : pluralize(Number(days), 'day');
}
