import { SOL_DECIMALS } from '@flywheel/protocol';
import { readVaultMovements, type VaultMovement } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { ArrowDownLeft, ArrowUpRight } from 'lucide-react';
import { formatBaseUnits } from '../../lib/amounts.ts';
import { useEnvironment } from '../../lib/api/environment.ts';
import { cn } from '../../ui/cn.ts';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Table } from '../../ui/table.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';

export interface MovementsPanelProps {
  readonly accounts: { readonly vault: string; readonly tokenAccount: string };
  readonly decimals: number;
  readonly unit: string;
}

const REFETCH_INTERVAL_MS = 10_000;

/** Lists the deposits to the vault and its spending, read from the cluster by this page. */
export function MovementsPanel({ accounts, decimals, unit }: MovementsPanelProps) {
  const rpcUrl = useEnvironment()?.rpcUrl;
  const movements = useQuery({
    queryKey: ['movements', accounts.vault],
    queryFn: ({ signal }) => readVaultMovements(rpcUrl ?? '', accounts, { signal }),
    enabled: rpcUrl !== undefined,
    refetchInterval: REFETCH_INTERVAL_MS,
  });
  return (
    <Panel
      title="Deposits and spending"
      aside={<span className="text-sm text-quiet">read from the chain</span>}
      isFlush
    >
      <QueryView query={movements} skeleton={<SkeletonLines count={4} className="m-3 h-9" />} isFlush>
        {(found) =>
          found.length === 0 ? (
            <div className="p-4">
              <EmptyState title="No deposits or spending yet">
                <p>Deposits appear here a few seconds after they are confirmed.</p>
              </EmptyState>
            </div>
          ) : (
            <Table
              label="Deposits and spending"
              rows={found}
              keyOf={({ signature }) => signature}
              columns={[
                { name: 'Type', isPlain: true, render: (movement) => <Direction movement={movement} /> },
                {
                  name: 'Time',
                  render: ({ executedAt, slot }) =>
                    executedAt === null ? `slot ${slot}` : <TimeText at={executedAt} />,
                },
                {
                  name: 'Transaction',
                  render: ({ signature }) => <AddressText address={signature} kind="signature" isLinked />,
                },
                {
                  name: unit === 'tokens' ? 'Tokens' : unit,
                  isAmount: true,
                  render: ({ baseUnits }) => signed(baseUnits, decimals),
                },
                { name: 'SOL', isAmount: true, render: ({ lamports }) => signed(lamports, SOL_DECIMALS) },
              ]}
            />
          )
        }
      </QueryView>
    </Panel>
  );
}

function Direction({ movement: { isDeposit } }: { readonly movement: VaultMovement }) {
  const Icon = isDeposit ? ArrowDownLeft : ArrowUpRight;
  return (
    <span className="inline-flex items-center gap-2 font-medium">
      <Icon size={16} aria-hidden className={cn(isDeposit ? 'text-done' : 'text-quiet')} />
      {isDeposit ? 'Deposit' : 'Spent'}
    </span>
  );
}

/** Formats an amount as `+1.5` or `−1.5`, and zero as a dash. */
function signed(amount: bigint, decimals: number): string {
  if (amount === 0n) return '–';
  return amount > 0n ? `+${formatBaseUnits(amount, decimals)}` : `−${formatBaseUnits(-amount, decimals)}`;
}
