import { Panel } from '../../ui/state/panel.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';

/** A batch before it is known, of the same size. */
export function BatchSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <div className="skeleton h-12 w-64" />
      <div className="skeleton h-44 sm:h-36 lg:h-[86px]" />
      <div className="grid gap-6 lg:grid-cols-[320px_minmax(0,1fr)] lg:items-start">
        <Panel title="Timeline">
          <Lines count={6} />
        </Panel>
        <Panel title="Pipelines">
          <Lines count={5} className="h-20" />
        </Panel>
      </div>
    </div>
  );
}
