import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newProject, randomAddress } from '@flywheel/testing/records';
import { isSetUpBeyondCaps } from '../../src/batches/admission.ts';
import { boundBurnedIndex, boundExposure } from '../../src/batches/exposure.ts';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import { parseConfig } from '../../src/config.ts';
import type { Batch } from '../../src/model/batch.ts';

const PIPELINES = [{ type: 'A', payload: '{}', actions: [{ action: 'MEMO' as const, message: 'hello' }] }];

test('the stored kind of a batch does not take its setup beyond the caps', async () => {
  const pipelines = await compilePipelines(PIPELINES, newProject());
  const [pipeline] = pipelines;
  assert.ok(pipeline);
  const withdrawal = {
    ...pipeline,
    actions: [{ action: 'WITHDRAW', asset: 'SOL', toAddress: randomAddress(), amount: '1' }],
  };
  const of = (...stored: readonly unknown[]) => ({ kind: 'withdrawal', pipelines: stored }) as unknown as Batch;
  assert.equal(isSetUpBeyondCaps(of(withdrawal)), true);
  assert.equal(isSetUpBeyondCaps(of(pipeline)), false);
  assert.equal(isSetUpBeyondCaps(of(withdrawal, pipeline)), false);
});

test('the cost of an unused index is within what the smallest batch reserves', async () => {
  const prices = parseConfig({});
  const project = newProject();
  const pipelines = await compilePipelines(PIPELINES, project);
  const { spendLamports } = await boundExposure(prices, project.flywheel.multisig, { kind: 'pipelines', pipelines });
  assert.ok(boundBurnedIndex(prices) < spendLamports);
});
