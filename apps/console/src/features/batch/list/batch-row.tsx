import type { BatchRow as Row } from '@flywheel/api';
import { Link } from '@tanstack/react-router';
import type { CSSProperties } from 'react';
import { formatSol, withSeparators } from '../../../lib/text/amount.ts';
import { count } from '../../../lib/text/count.ts';
import { classes } from '../../../ui/classes.ts';
import { KindBar } from '../../../ui/drawn/kind-bar.tsx';
import { Ring } from '../../../ui/drawn/ring.tsx';
import { STATE_COLOURS } from '../../../ui/show/state.ts';
import { TimeText } from '../../../ui/show/time-text.tsx';
import { batchState } from '../batch-state.ts';
import { kindName } from '../kind-name.ts';

/** The same columns for the head, every row and every skeleton: nothing moves when rows arrive. */
export const COLUMNS =
  'md:grid md:grid-cols-[minmax(170px,1.4fr)_120px_minmax(90px,1fr)_80px_minmax(90px,1fr)_minmax(90px,1fr)_minmax(110px,1fr)] md:items-center md:gap-4 md:px-4';

export interface BatchRowProps {
  readonly projectId: string;
  readonly row: Row;
  readonly index: number;
  /** Where in the list it stands. */
  readonly place: CSSProperties;
}

/** A batch on a line; on a phone, a card. The whole of it leads to the batch. */
export function BatchRow({ projectId, row, index, place }: BatchRowProps) {
  const { state, word, closed } = batchState({ ...row, isHeldUp: row.problem !== undefined });
  return (
    <tr
      aria-rowindex={index + 2}
      style={place}
      className={classes(
        'absolute inset-x-0 top-0 flex flex-col justify-center gap-2.5 border-b px-4 last:border-b-0 hover:bg-sunken has-[:focus-visible]:bg-sunken',
        COLUMNS,
      )}
    >
      <td className="flex min-w-0 items-center gap-2.5">
        <Ring size={22} closed={closed} isTurning={state === 'running'} className={STATE_COLOURS[state]} />
        <span className="min-w-0 flex-1">
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId: row.id }}
            data-row={index}
            className={classes('font-medium outline-offset-4 after:absolute after:inset-0', STATE_COLOURS[state])}
          >
            {word}
          </Link>
          <span className="block truncate text-xs text-quiet">
            {row.problem ?? (row.types.join(', ') || kindName(row.kind))}
          </span>
        </span>
        <span className="text-sm text-quiet md:hidden">
          <TimeText at={row.dateCreated} />
        </span>
      </td>
      <td className="hidden text-sm md:block">
        <TimeText at={row.dateCreated} />
      </td>
      <td className="flex items-center gap-3">
        <KindBar burns={row.actions.burn} airdrops={row.actions.airdrop} memos={row.actions.memo} />
        <span className="tabular text-xs whitespace-nowrap text-quiet md:hidden">
          {count(row.pipelines, 'pipeline')}
        </span>
      </td>
      <td className="tabular hidden text-right md:block">{row.pipelines.toLocaleString('en')}</td>
      <Amount name="Burned" tokens={row.burned} isReal={row.status !== 'FAILED'} />
      <Amount name="Airdropped" tokens={row.airdropped} isReal={row.status !== 'FAILED'} />
      <td className="flex justify-between text-sm md:justify-end">
        <span className="text-quiet md:sr-only">Cost</span>
        <span className="tabular text-right text-quiet">{formatSol(row.operatorLamports)}</span>
      </td>
    </tr>
  );
}

interface AmountProps {
  readonly name: string;
  readonly tokens: string;
  /** A failed batch asked for it; whether any of it moved, the batch itself says. */
  readonly isReal: boolean;
}

function Amount({ name, tokens, isReal }: AmountProps) {
  return (
    <td className="flex justify-between text-sm md:justify-end md:text-base">
      <span className="text-quiet md:sr-only">{isReal ? name : `${name}, as asked for`}</span>
      <span className={classes('tabular text-right', tokens === '0' || !isReal ? 'text-quiet' : 'font-medium')}>
        {withSeparators(tokens)}
      </span>
    </td>
  );
}
