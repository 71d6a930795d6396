import { CircleAlert, CircleCheck, Clock } from 'lucide-react';
import { classes } from '../classes.ts';
import { Ring } from '../drawn/ring.tsx';
import { STATE_COLOURS, type State } from './state.ts';

/** An icon, a colour and a word. */
export function StateMark({ state, word }: { readonly state: State; readonly word: string }) {
  return (
    <span className={classes('inline-flex items-center gap-1.5 font-medium whitespace-nowrap', STATE_COLOURS[state])}>
      <StateIcon state={state} />
      {word}
    </span>
  );
}

/** A state’s sign alone, where its word stands beside it. */
export function StateIcon({ state, size = 16 }: { readonly state: State; readonly size?: number }) {
  const props = { size, 'aria-hidden': true, className: classes('shrink-0', STATE_COLOURS[state]) };
  switch (state) {
    case 'waiting':
      return <Clock {...props} />;
    case 'running':
      return <Ring size={size} closed={0.7} isTurning className={STATE_COLOURS.running} />;
    case 'done':
      return <CircleCheck {...props} />;
    case 'failed':
      return <CircleAlert {...props} />;
    default:
      return state satisfies never;
  }
}
