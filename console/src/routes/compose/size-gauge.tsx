import { MAX_PIPELINE_BYTES, type PipelineSize } from '@flywheel/sdk';
import { classes } from '../../parts/classes.ts';
import { Gauge } from '../../parts/show/gauge.tsx';

/** How full a pipeline’s one transaction is. */
export function SizeGauge({ size: { bytes, share } }: { readonly size: PipelineSize }) {
  const isTooBig = share > 1;
  return (
    <div className="flex w-52 flex-col gap-1">
      <Gauge share={share} label="Size of the pipeline" tone={isTooBig ? 'failed' : 'accent'} />
      <p className={classes('tabular text-right text-xs', isTooBig ? 'text-failed' : 'text-quiet')}>
        {isTooBig ? 'Too big for one transaction' : `${bytes} of ${MAX_PIPELINE_BYTES} bytes`}
      </p>
    </div>
  );
}
