import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { WriteStream } from 'node:tty';
import type { Batch, InitBatchResponse } from '@flywheel/api';
import { showBatchProgress } from '../src/commands/batch/batch-progress.ts';
import { displayUrl } from '../src/context.ts';
import { createOutput } from '../src/output.ts';
import { createProgress, createProgressBar } from '../src/progress.ts';

const STEPS = { compile: 'Compile', setUp: 'Set up on chain', approve: 'Approve', execute: 'Execute' };
const INIT = { batch: { pipelines: [{}, {}] } } as unknown as InitBatchResponse;
const KEY = crypto.randomUUID();
const EXECUTED = { status: 'EXECUTED', executeResult: { totalSuccessful: 250 } } as Batch;

describe('the progress of a batch without a terminal', () => {
  it('has a line per step with its duration', async () => {
    const { progress, lines } = await open();
    const onProgress = showBatchProgress(progress);
    onProgress({ stage: 'begun', idempotencyKey: KEY, position: null });
    onProgress({ stage: 'compiled', init: INIT, idempotencyKey: KEY, isResumed: false });
    onProgress({ stage: 'setUp', batch: { initResult: { totalSuccessful: 4 } } as Batch });
    onProgress({ stage: 'approved', batch: EXECUTED, signedTx: '' as never });
    onProgress({ stage: 'ended', batch: EXECUTED, hadEnded: false });
    progress.close();
    assert.deepEqual(
      lines().map((line) => line.replace(/\d+\.\d s/, '0.0 s')),
      [
        '✓ Compile · 2 pipelines 0.0 s',
        '✓ Set up on chain · 4 transactions 0.0 s',
        '✓ Approve 0.0 s',
        '✓ Execute · 250 pipelines 0.0 s',
      ],
    );
  });

  it('has no durations and no failed steps if an earlier run has executed the batch', async () => {
    const { progress, lines } = await open();
    const onProgress = showBatchProgress(progress);
    onProgress({ stage: 'begun', idempotencyKey: KEY, position: null });
    onProgress({ stage: 'compiled', init: INIT, idempotencyKey: KEY, isResumed: false });
    onProgress({ stage: 'ended', batch: EXECUTED, hadEnded: true });
    progress.close();
    assert.deepEqual(lines().slice(1), [
      '✓ Set up on chain · by an earlier run',
      '✓ Approve · by an earlier run',
      '✓ Execute · 250 pipelines, by an earlier run',
    ]);
  });

  it('has a line with the reason when the setup or the execution is held up', async () => {
    const { progress, lines } = await open();
    const onProgress = showBatchProgress(progress);
    const executionError = { code: 'ERR_BATCH_EXECUTE_FAILED', message: 'It is held up: the operator lacks 1 SOL.' };
    onProgress({ stage: 'compiled', init: INIT, idempotencyKey: KEY, isResumed: false });
    onProgress({ stage: 'blocked', batch: { status: 'AVAILABLE_TO_QUEUE' } as Batch, executionError });
    onProgress({ stage: 'setUp', batch: { initResult: { totalSuccessful: 4 } } as Batch });
    onProgress({ stage: 'approved', batch: EXECUTED, signedTx: '' as never });
    onProgress({ stage: 'blocked', batch: { status: 'FINALIZED' } as Batch, executionError });
    assert.deepEqual(
      lines().map((line) => line.replace(/\d+\.\d s/, '0.0 s')),
      [
        '✓ Compile · 2 pipelines',
        '… Set up on chain · It is held up: the operator lacks 1 SOL.',
        '✓ Set up on chain · 4 transactions 0.0 s',
        '✓ Approve 0.0 s',
        '… Execute · It is held up: the operator lacks 1 SOL.',
      ],
    );
  });

  it('shows the running step as failed when it is closed', async () => {
    const { progress, lines } = await open();
    progress.begin('compile', 'reading');
    progress.close();
    assert.match(lines()[0] ?? '', /^✗ Compile · reading \d/);
  });

  it('prints nothing with --json', async () => {
    const { progress, lines } = await open({ json: true });
    progress.begin('compile');
    progress.finish('compile');
    progress.close();
    assert.deepEqual(lines(), []);
  });
});

it('the progress bar without a terminal prints each text once', async () => {
  const { output, lines } = openOutput();
  const bar = await createProgressBar(output);
  bar.show(0, 'check 20 rows');
  bar.show(0.1, 'set up, 2 pipelines');
  bar.show(0.2, 'set up, 2 pipelines');
  bar.close();
  assert.deepEqual(lines(), ['check 20 rows', 'set up, 2 pipelines']);
});

it('the progress on a terminal of width 0 has lines, because a live display would never end', () => {
  assert.equal(openTerminal(0).terminal, null);
  const { terminal, stderr } = openTerminal(80);
  assert.equal(terminal, stderr);
});

it('displayUrl hides everything but the host of a remote URL, where a provider’s key may be', () => {
  assert.equal(displayUrl('http://127.0.0.1:8899/'), 'http://127.0.0.1:8899/');
  for (const url of ['https://rpc.example/v2/key', 'https://rpc.example?api-key=key', 'https://me:key@rpc.example']) {
    assert.equal(displayUrl(url), 'rpc.example');
  }
});

async function open({ json = false } = {}) {
  const { output, lines } = openOutput(json);
  return { progress: await createProgress(output, STEPS), lines };
}

/** Opens the output of a terminal with this many columns; it needs no pseudo terminal, because nothing is written. */
function openTerminal(columns: number) {
  const stderr: WriteStream = Object.create(WriteStream.prototype, {
    isTTY: { value: true },
    columns: { value: columns },
  });
  return createOutput({ json: false, stdout: stderr, stderr });
}

function openOutput(json = false) {
  const chunks: string[] = [];
  const stream = new Writable({
    write: (chunk, _, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  const lines = () => chunks.join('').split('\n').filter(Boolean);
  return { output: createOutput({ json, stdout: stream, stderr: stream }), lines };
}
