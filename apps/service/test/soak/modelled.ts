import assert from 'node:assert/strict';
import { checkLogs, describeMissingTools } from '@flywheel/testing/model';
import { readProtocolLogs } from '@flywheel/testing/protocol-log';
import type { World } from '@flywheel/testing/world';

/**
 * Asserts that the model of the landing protocol has a run with the logged steps of each batch, as far as the search comes.
 * @param hasFaults true if the cluster may have lied about transactions and abandoned blocks.
 * @returns what was checked, or the reason why nothing was.
 */
export async function assertModelled(world: World, { hasFaults }: { readonly hasFaults: boolean }): Promise<string> {
  const missing = describeMissingTools();
  if (missing !== null) return `The logs are not compared with docs/model: ${missing}`;
  const logs = await readProtocolLogs(world);
  const { rejected, undecided } = await checkLogs(logs, { hasFaults });
  const described = rejected.map(({ log, step }) => {
    const steps = log.steps.map((each, i) => `${i === step ? '→ ' : ''}${each.join(' ')}`);
    return `batch ${log.batchId} of ${log.pipelines} pipelines, from step ${step} on:\n${steps.join('\n')}`;
  });
  assert.equal(rejected.length, 0, `docs/model has no run with the steps of ${described.join('\n')}`);
  assert.ok(undecided < logs.length, 'the search of docs/model has decided about no log');
  const steps = logs.reduce((sum, log) => sum + log.steps.length, 0);
  const left = undecided === 0 ? '' : `, except ${undecided} of which the search was stopped before it had seen all`;
  return `docs/model has a run with the ${steps} logged steps of ${logs.length} batches${left}`;
}
