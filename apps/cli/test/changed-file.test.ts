import assert from 'node:assert/strict';
import { Readable, Writable } from 'node:stream';
import { describe, it } from 'node:test';
import type { Batch, InitBatchResponse } from '@flywheel/api';
import type { FlywheelClient } from '@flywheel/sdk';
import { createOutput } from '../src/output.ts';
import { recordRun } from '../src/run-recorder.ts';
import { describeChangeIssue, openRunState, requireUnchanged } from '../src/run-state.ts';
import { makeTemporaryFolder } from './wallet-files.ts';

describe('a file that has changed since a batch was created from it', () => {
  const issueOf = (status: Batch['status'], totalSuccessful = 0) =>
    describeChangeIssue('rewards.json', {
      id: 'b1',
      status,
      executeResult: { total: 3, totalSuccessful, totalFailed: 3 - totalSuccessful, successfulExecutions: [] },
    } as unknown as Batch); // the fields that count

  it('is sent when the batch executed everything, or failed before its first pipeline', () => {
    assert.equal(issueOf('EXECUTED', 3), null);
    assert.equal(issueOf('FAILED'), null);
  });

  it('is rejected while the batch is open', () => {
    for (const status of ['AVAILABLE_TO_QUEUE', 'FINALIZED'] as const) {
      assert.match(issueOf(status) ?? '', new RegExp(`that batch is ${status}.*flywheel cancel b1`));
    }
  });

  it('is rejected with a hint at --rest when the batch executed some pipelines before it failed', () => {
    assert.match(issueOf('FAILED', 2) ?? '', /executed 2 pipelines before it failed.*add --rest/);
  });
});

describe('a file of which a failed batch has paid a part, and that has changed', () => {
  const [run, rest] = ['00000000-0000-8000-8000-00000000000a', '00000000-0000-8000-8000-00000000000b'];
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = createOutput({ json: true, stdout: discard, stderr: discard });
  const endOf = (batchId: string, status: Batch['status'], totalSuccessful: number): Batch =>
    ({
      ...{ id: batchId, status, dateUpdated: '2026-11-28T08:00:00.000Z' },
      executeResult: { total: 3, totalSuccessful, totalFailed: 3 - totalSuccessful, successfulExecutions: [] },
    }) as unknown as Batch; // the fields that count

  /** Records commands, each as the events of its batches, and says why the changed file is not sent. */
  async function issueAfter(...commands: readonly (readonly Follow[])[]): Promise<string | null> {
    await using folder = await makeTemporaryFolder();
    const context = { output, environment: { XDG_STATE_HOME: folder.path }, stdin: Readable.from([]) };
    const state = openRunState(context, 'project', 'rewards.json');
    const ends = new Map<string, Batch>();
    for (const command of commands) {
      const sent = { text: '{}', content: 'as it was' };
      const { onProgress } = recordRun(output, { state, sent, note: () => undefined });
      for (const { idempotencyKey, position, end } of command) {
        onProgress({ stage: 'begun', idempotencyKey, position });
        if (!end) continue;
        const init = { batch: { id: end.id, pipelines: [{}, {}, {}] } } as unknown as InitBatchResponse; // the fields that count
        onProgress({ stage: 'compiled', init, idempotencyKey, isResumed: false });
        onProgress({ stage: 'ended', batch: end, hadEnded: false });
        ends.set(end.id, end);
      }
    }
    const client = { getBatch: async (id: string) => ends.get(id) } as unknown as FlywheelClient; // what is called
    const file = { file: 'rewards.json', content: 'as it is' };
    return requireUnchanged(client, state, file).then(
      () => null,
      (error: Error) => error.message,
    );
  }

  interface Follow {
    readonly idempotencyKey: string;
    readonly position: { readonly run: number; readonly rest: number };
    /** Undefined if init is refused, or never answered. */
    readonly end?: Batch;
  }
  const first: Follow = { idempotencyKey: run, position: { run: 1, rest: 0 }, end: endOf('b1', 'FAILED', 2) };
  const restOf = (end?: Batch): Follow => ({
    ...{ idempotencyKey: rest, position: { run: 1, rest: 1 } },
    ...(end && { end }),
  });

  it('is refused, also after --rest was refused or has failed', async () => {
    for (const commands of [
      [[first]],
      [[first], [first, restOf()]],
      [[first], [first, restOf(endOf('b2', 'FAILED', 0))]],
      [[first], [first, restOf(endOf('b2', 'FAILED', 0))], [{ ...first, end: undefined }]],
    ]) {
      assert.match((await issueAfter(...commands)) ?? 'sent', /batch b1 was created from it.* executed 2 pipelines/);
    }
  });

  it('is sent after --rest has paid the others', async () => {
    assert.equal(await issueAfter([first], [first, restOf(endOf('b2', 'EXECUTED', 1))]), null);
  });

  it('is refused while a later run has paid a part, also after an earlier run was asked for again', async () => {
    const paid: Follow = { ...first, end: endOf('b1', 'EXECUTED', 3) };
    const again: Follow = { idempotencyKey: rest, position: { run: 2, rest: 0 }, end: endOf('b2', 'FAILED', 1) };
    assert.match((await issueAfter([paid], [again], [paid])) ?? 'sent', /batch b2 .* executed 1 pipeline/);
  });
});
