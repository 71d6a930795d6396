/** Each has a colour, an icon and a label of its own; colour alone never carries the meaning. */
export type Status = 'waiting' | 'running' | 'done' | 'failed';

/** Text colour of each status. */
export const STATUS_COLORS = {
  waiting: 'text-waiting',
  running: 'text-accent',
  done: 'text-done',
  failed: 'text-failed',
} as const;
