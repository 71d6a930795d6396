import type { ProjectOverview } from '@flywheel/api';
import { Link } from '@tanstack/react-router';
import { shareOf, toFinestUnits, toSol } from '../../lib/amounts.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Meter } from '../../ui/charts.tsx';
import { Stat, Stats } from '../../ui/layout.tsx';
import { AmountText, TimeText } from '../../ui/text.tsx';

/** Shows the vault’s balances and how much of the daily limits is used. */
export function TodayStats({ project }: { readonly project: ProjectOverview }) {
  const { funds, limits, token } = project;
  const unit = tokenUnit(token);
  return (
    <Stats>
      <Stat
        name="Vault, SOL"
        value={funds ? <AmountText amount={toSol(funds.lamports.available)} unit="SOL" /> : 'Unknown'}
        note={
          <FundsNote project={project} missing={funds && toSol(funds.lamports.missing)} unit="SOL">
            Pays for recipients’ new token accounts
          </FundsNote>
        }
      />
      <Stat
        name={`Vault, ${unit}`}
        value={funds ? <AmountText amount={funds.tokens.available} unit={unit} /> : 'Unknown'}
        note={
          <FundsNote project={project} missing={funds?.tokens.missing ?? null} unit={unit}>
            {funds && funds.tokens.needed !== '0' ? (
              <>
                <AmountText amount={funds.tokens.needed} /> needed by open batches
              </>
            ) : (
              'No open batch needs tokens'
            )}
          </FundsNote>
        }
      />
      <UsedToday name="Burned today" use={limits.burn} tone="ember" token={token} />
      <UsedToday name="Airdropped today" use={limits.airdrop} tone="tide" token={token} />
    </Stats>
  );
}

interface FundsNoteProps {
  readonly project: ProjectOverview;
  /** Null while the cluster does not respond. */
  readonly missing: string | null;
  readonly unit: string;
  readonly children: React.ReactNode;
}

function FundsNote({ project, missing, unit, children }: FundsNoteProps) {
  if (missing === null) return 'The cluster does not respond';
  if (missing === '0') return children;
  return (
    <Link
      to="/p/$projectId/vault"
      params={{ projectId: project.id }}
      className="font-medium text-failed underline underline-offset-2"
    >
      <AmountText amount={missing} /> {unit} missing
    </Link>
  );
}

interface UsedTodayProps {
  readonly name: string;
  readonly use: ProjectOverview['limits']['burn'];
  readonly tone: 'ember' | 'tide';
  readonly token: ProjectOverview['token'];
}

function UsedToday({ name, use, tone, token }: UsedTodayProps) {
  return (
    <Stat
      name={name}
      value={
        <>
          <AmountText amount={use.used} />
          <span className="ml-1.5 text-[0.85em] font-normal text-quiet">
            of <AmountText amount={use.cap} unit={tokenUnit(token)} />
          </span>
        </>
      }
      note={
        <span className="flex flex-col gap-1.5">
          <Meter share={shareOf(toFinestUnits(use.used), toFinestUnits(use.cap))} label={name} tone={tone} />
          <span>
            <AmountText amount={use.left} /> left until <TimeText at={use.resetsAt} form="hour" />
          </span>
        </span>
      }
    />
  );
}
