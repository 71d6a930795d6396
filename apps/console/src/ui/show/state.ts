/** What state a thing is in: always an icon, a colour and a word. */
export type State = 'waiting' | 'running' | 'done' | 'failed';

/** The text colour of each. */
export const STATE_COLOURS = {
  waiting: 'text-waiting',
  running: 'text-accent',
  done: 'text-done',
  failed: 'text-failed',
} as const;
