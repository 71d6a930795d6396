import { MAX_PIPELINE_BYTES, MAX_PIPELINE_INSTRUCTIONS, type PipelineSize } from '@flywheel/sdk';
import { classes } from '../../../ui/classes.ts';
import { Gauge } from '../../../ui/drawn/gauge.tsx';

/** How full a pipeline’s one transaction is. */
export function SizeGauge({ size }: { readonly size: PipelineSize }) {
  const isTooBig = size.share > 1;
  return (
    <div className="flex w-52 flex-col gap-1">
      <Gauge share={size.share} label="Size of the pipeline" tone={isTooBig ? 'failed' : 'accent'} />
      <p className={classes('tabular text-right text-xs', isTooBig ? 'text-failed' : 'text-quiet')}>{textOf(size)}</p>
    </div>
  );
}

function textOf({ bytes, instructions }: PipelineSize): string {
  if (bytes > MAX_PIPELINE_BYTES) return `${bytes} bytes; one transaction holds ${MAX_PIPELINE_BYTES}`;
  if (instructions > MAX_PIPELINE_INSTRUCTIONS) {
    return `${instructions} instructions; one transaction runs ${MAX_PIPELINE_INSTRUCTIONS}`;
  }
  return `${bytes} of ${MAX_PIPELINE_BYTES} bytes`;
}
