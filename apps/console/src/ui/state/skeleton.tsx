import { classes } from '../classes.ts';

/** Lines where text will be. */
export function Lines({ count, className = 'h-10' }: { readonly count: number; readonly className?: string }) {
  return (
    <div aria-hidden className="flex flex-col gap-2">
      {Array.from({ length: count }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike and never move.
        <div key={line} className={classes('skeleton', className)} />
      ))}
    </div>
  );
}
