import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { checkLogs, describeMissingTools } from '@flywheel/testing/model';
import type { ModelStep } from '@flywheel/testing/protocol-log';
import { ROOT } from './lanes.ts';

const missing = describeMissingTools();
const WITH_SPIN = { skip: missing !== null && `the model is not checked: ${missing}` };

it('docs/model has no state that is wrong in small sizes, and its checker finds each seeded error', WITH_SPIN, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/model.ts', '--small'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

/** A batch of two pipelines that is set up, and of which both are executed by one bundle with the approval. */
const [BEGUN, SET_UP, RECORDED, SENT] = [
  [0, 0, 1, 1],
  [
    [0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0],
    [2, 0],
    [3, 0, 1, 0, 0],
    [4, 0, 1, 0],
  ],
  [1, 1, 1, 0, 2, 1],
  [2, 1],
] satisfies [ModelStep, ModelStep[], ModelStep, ModelStep];
/** Runs for another batch, in the lane of setups and in the other one. */
const [OTHER_SETUP, OTHER_DECIDING] = [
  [0, 0, 4, 0],
  [0, 0, 4, 1],
] satisfies [ModelStep, ModelStep];
/** A setup whose first bundle is given up, and the run of a closing in which its fate is known. */
const [SET_UP_AGAIN, CLOSED] = [
  [
    [0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0],
    [2, 0],
    [1, 2, 0, 0, 0, 0],
    [2, 2],
    [3, 2, 1, 0, 0],
    [4, 0, 1, 0],
  ],
  [
    [0, 0, 2, 1],
    [3, 0, 0, 0, 0],
  ],
] satisfies [ModelStep[], ModelStep[]];
const SETTLED: ModelStep = [3, 1, 1, 2, 1];
const EXECUTED: ModelStep = [4, 0, 2, 2];
const FAILED: ModelStep = [4, 0, 3, 0];

it(
  'docs/model has a run with the steps of an execution, and none in which a step comes too early',
  WITH_SPIN,
  async () => {
    const logs = {
      right: [...SET_UP, BEGUN, RECORDED, SENT, SETTLED, EXECUTED],
      'right, while another batch is set up': [...SET_UP, BEGUN, OTHER_SETUP, RECORDED, SENT, SETTLED, EXECUTED],
      'right, with a bundle of the setup that was given up': [
        ...[...SET_UP_AGAIN, BEGUN, RECORDED, SENT, SETTLED, EXECUTED],
        ...CLOSED,
      ],
      'recorded by a run that has ended': [...SET_UP, BEGUN, OTHER_DECIDING, RECORDED, SENT, SETTLED, EXECUTED],
      'sent before its row': [...SET_UP, BEGUN, SENT, RECORDED, SETTLED, EXECUTED],
      'executed before the bundle is settled': [...SET_UP, BEGUN, RECORDED, SENT, EXECUTED, SETTLED],
      'failed before the bundle is settled': [...SET_UP, BEGUN, RECORDED, SENT, FAILED, SETTLED],
      'executed and failed': [...SET_UP, BEGUN, RECORDED, SENT, SETTLED, FAILED],
    };
    const named = Object.entries(logs).map(([batchId, steps]) => ({ batchId, pipelines: 2, steps }));
    const { rejected } = await checkLogs(named, { hasFaults: false });
    assert.deepEqual(
      rejected.map(({ log, step }) => [log.batchId, step]),
      [
        ['recorded by a run that has ended', 7],
        ['sent before its row', 6],
        ['executed before the bundle is settled', 8],
        ['failed before the bundle is settled', 8],
        ['executed and failed', 9],
      ],
    );
  },
);
