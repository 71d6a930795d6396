import type { BatchRow } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { recentBatchesQuery } from '../../lib/service/batches.ts';
import { CodeBlock } from '../../ui/copy/code-block.tsx';
import { KindBar } from '../../ui/drawn/kind-bar.tsx';
import { ButtonLink } from '../../ui/form/button.tsx';
import { type Column, Table } from '../../ui/layout/table.tsx';
import { AmountText } from '../../ui/show/amount-text.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { batchState } from '../batch/batch-summary.ts';

const SHOWN = 5;

export interface RecentBatchesProps {
  readonly projectId: string;
  /** What the token is called. */
  readonly unit: string;
}

/** The newest batches, and the way to all. */
export function RecentBatches({ projectId, unit }: RecentBatchesProps) {
  const batches = useQuery(recentBatchesQuery(projectId, SHOWN));
  return (
    <Panel
      title="Recent batches"
      aside={
        <ButtonLink to="/p/$projectId/batches" params={{ projectId }} size="small" tone="quiet">
          All batches
        </ButtonLink>
      }
      isFlush
    >
      <Loaded query={batches} skeleton={<Lines count={SHOWN} className="m-3 h-9" />} isFlush>
        {({ batches: found }) =>
          found.length === 0 ? (
            <div className="p-4">
              <FirstBatch />
            </div>
          ) : (
            <Table
              label="Recent batches"
              columns={columnsOf(projectId, unit)}
              rows={found}
              keyOf={({ id }: BatchRow) => id}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

function columnsOf(projectId: string, unit: string): readonly Column<BatchRow>[] {
  return [
    {
      name: 'Batch',
      isPlain: true,
      show: (batch) => (
        <Link
          to="/p/$projectId/batches/$batchId"
          params={{ projectId, batchId: batch.id }}
          className="flex items-center gap-3 font-medium underline-offset-2 hover:underline"
        >
          #{batch.batchIndex}
          <StateMark {...batchState({ ...batch, isBlocked: batch.problem !== undefined })} />
        </Link>
      ),
    },
    { name: 'Begun', show: ({ dateCreated }) => <TimeText at={dateCreated} /> },
    {
      name: 'Does',
      isExtra: true,
      show: ({ actions }) => (
        <span className="block w-24">
          <KindBar burns={actions.burn} airdrops={actions.airdrop} memos={actions.memo} />
        </span>
      ),
    },
    { name: 'Pipelines', isExtra: true, isAmount: true, show: ({ pipelines }) => pipelines },
    { name: `Burned, ${unit}`, isAmount: true, show: ({ burned }) => <AmountText amount={burned} /> },
    { name: `Airdropped, ${unit}`, isAmount: true, show: ({ airdropped }) => <AmountText amount={airdropped} /> },
  ];
}

function FirstBatch() {
  return (
    <Empty title="No batch yet">
      <p>Compose one here, or send what a user did with the project’s key:</p>
      <div className="w-full text-left">
        <CodeBlock
          label="Compiles a batch of one burn"
          code={`curl ${location.origin}/v1/flywheel/batch/init -H "x-service-api-key: $KEY" \\
  -H "x-idempotency-key: $(uuidgen)" \\
  --json '{"pipelines":[{"type":"WATCH_AD","payload":"{\\"adId\\":\\"1\\"}","actions":[{"action":"BURN","amount":1}]}]}'`}
        />
      </div>
    </Empty>
  );
}
