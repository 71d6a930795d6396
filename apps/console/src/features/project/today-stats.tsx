import type { ProjectOverview } from '@flywheel/api';
import { Link } from '@tanstack/react-router';
import { shareOf, toFinestUnits, toSol } from '../../lib/amounts.ts';
import { tokenUnit, unitBeside } from '../../lib/format.ts';
import { Meter } from '../../ui/charts.tsx';
import { Stat, Stats } from '../../ui/layout.tsx';
import { AmountText, TimeText } from '../../ui/text.tsx';

/** Shows the vault’s balances, how much of the daily limits is used, and what the project takes of the operator’s SOL. */
export function TodayStats({ project }: { readonly project: ProjectOverview }) {
  const { funds, limits, token, exposure } = project;
  const unit = tokenUnit(token);
  return (
    <div className="flex flex-col gap-4">
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
                  <AmountText amount={funds.tokens.needed} unit={unit} /> needed by open batches
                </>
              ) : (
                'No open batch needs tokens'
              )}
            </FundsNote>
          }
        />
        <UsedToday name="Burn limit used today" use={limits.burn} tone="ember" token={token} />
        <UsedToday name="Airdrop limit used today" use={limits.airdrop} tone="tide" token={token} />
      </Stats>
      <Stats>
        <OperatorStat
          name="Rent reserved for open batches"
          use={exposure.locked}
          note="At most; returned when the batches are closed"
        />
        <OperatorStat
          name="Fees today"
          use={exposure.spentToday}
          note={
            <>
              With what open batches may still take, until <TimeText at={exposure.spentToday.resetsAt} form="hour" />
            </>
          }
        />
      </Stats>
    </div>
  );
}

interface OperatorStatProps {
  readonly name: string;
  readonly use: ProjectOverview['exposure']['locked'];
  readonly note: React.ReactNode;
}

/** Shows how much of a cap on the operator’s SOL the batches of the project take. */
function OperatorStat({ name, use, note }: OperatorStatProps) {
  return (
    <Stat
      name={name}
      value={
        <>
          <AmountText amount={toSol(use.used)} />{' '}
          <span className="inline-block text-[0.85em] font-normal text-quiet">
            of the operator’s <AmountText amount={toSol(use.cap)} unit="SOL" />
          </span>
        </>
      }
      note={
        <span className="flex flex-col gap-1.5">
          <Meter share={shareOf(toFinestUnits(use.used), toFinestUnits(use.cap))} label={name} />
          <span>{note}</span>
        </span>
      }
    />
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
      <AmountText amount={missing} /> {unitBeside(missing, unit)} missing
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
          <AmountText amount={use.used} />{' '}
          <span className="inline-block text-[0.85em] font-normal text-quiet">
            of <AmountText amount={use.cap} unit={tokenUnit(token)} />
          </span>
        </>
      }
      note={
        <span className="flex flex-col gap-1.5">
          <Meter share={shareOf(toFinestUnits(use.used), toFinestUnits(use.cap))} label={name} tone={tone} />
          <span>
            <AmountText amount={use.left} unit={tokenUnit(token)} /> left until{' '}
            <TimeText at={use.resetsAt} form="hour" />. Open batches are included.
          </span>
        </span>
      }
    />
  );
}
