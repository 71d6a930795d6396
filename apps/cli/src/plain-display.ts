import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { type Display, formatDuration } from './progress.ts';

/** A line per finished step, for logs and pipes. */
export function createPlainDisplay(stream: Writable): Display {
  return {
    update: (steps, changed) => {
      const step = steps[changed];
      if (!step || (step.state !== 'done' && step.state !== 'failed')) return;
      const mark = step.state === 'done' ? styleText('green', '✓', { stream }) : styleText('red', '✗', { stream });
      const took = styleText('dim', formatDuration(step.endedAtMs - step.startedAtMs), { stream });
      stream.write(`${[mark, step.label, ...(step.detail === '' ? [] : [`· ${step.detail}`]), took].join(' ')}\n`);
    },
    close: () => undefined,
  };
}
