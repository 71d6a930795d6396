import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatPrometheus } from '@flywheel/sdk/collector';

it('formatPrometheus writes each number once, with its type, and a code that cannot end its label', () => {
  const counts = { accepted: 10, pending: 1, paid: 6, quarantined: 2, dropped: 1, openBatches: 3 };
  const waiting = { kind: 'waiting', code: 'ERR_X"} 1\n', message: '', batchId: null } as const;
  const text = formatPrometheus({ ...counts, waitingFor: waiting });
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  assert.deepEqual(samples, [
    'flywheel_collector_accepted_total 10',
    'flywheel_collector_items{state="pending"} 1',
    'flywheel_collector_items{state="paid"} 6',
    'flywheel_collector_items{state="quarantined"} 2',
    'flywheel_collector_items{state="dropped"} 1',
    'flywheel_collector_open_batches 3',
    'flywheel_collector_waiting{code="ERR_X___1_"} 1',
  ]);
  const names = new Set(samples.map((line) => line.split(/[{ ]/)[0]));
  for (const name of names) assert.match(text, new RegExp(`^# TYPE ${name} (counter|gauge)$`, 'm'));
  assert.match(formatPrometheus({ ...counts, waitingFor: null }), /^flywheel_collector_waiting 0$/m);
  assert.ok(text.endsWith('\n'));
});
