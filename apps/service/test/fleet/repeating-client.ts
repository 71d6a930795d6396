import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { executeSigned, waitUntil } from '@flywheel/testing/batches';
import { type Answer, airdropPipeline, burnPipeline, getBatch, init } from '@flywheel/testing/client';
import { requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { generateKeyPairSigner } from '@solana/kit';
import type { SoakBatch } from '../soak/load.ts';

/** A client that repeats a request which fails or whose connection breaks, as the remedies in docs/errors.md ask it to. */
export interface RepeatingClient {
  /** Initializes a batch that burns and airdrops, asks for it again as if the answer was lost, and asks for its execution. */
  runBatch(project: TestProject): Promise<SoakBatch>;
  awaitExecuted(batch: SoakBatch): Promise<void>;
  /** Errors that were answered, by their code, with their number. */
  readonly errors: ReadonlyMap<string, number>;
  /** Asserts that every error is one that its remedy asks to repeat. */
  assertRetryable(): void;
}

const CONNECTION = 'no answer';
const RETRYABLE = new Set([
  CONNECTION,
  'ERR_BATCH_INIT_FAILED',
  'ERR_BATCH_EXECUTE_FAILED',
  'ERR_INTERNAL',
  'ERR_NONCE_POOL_EMPTY',
]);

/**
 * @param nextUrl names the address for each request.
 * @param signal ends the repetitions, e.g. because no process is left that could answer.
 */
export function createRepeatingClient(nextUrl: () => string, signal?: AbortSignal): RepeatingClient {
  const errors = new Map<string, number>();
  const repeat = async (ask: () => Promise<Answer>): Promise<Answer> => {
    for (;;) {
      signal?.throwIfAborted();
      const answer = await ask().catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error; // what fetch throws
        return null;
      });
      if (answer !== null && answer.status < 300) return answer;
      assert.ok(answer === null || answer.status >= 500, JSON.stringify(answer));
      const error: string = answer?.body.error ?? CONNECTION;
      errors.set(error, (errors.get(error) ?? 0) + 1);
      await sleep(REPEAT_MS);
    }
  };
  return {
    errors,
    async runBatch(project) {
      const { address: recipient } = await generateKeyPairSigner();
      const pipelines = [burnPipeline(1), airdropPipeline(recipient, 1)];
      const key = randomUUID();
      const ask = () => init(nextUrl(), project.apiKey, pipelines, key);
      const { batch, proposalApproveTx } = requireOk(await repeat(ask));
      assert.equal(requireOk(await repeat(ask)).batch.id, batch.id);
      const signedTx = await signWith(project.wallet, proposalApproveTx);
      const signed = { id: batch.id, signedTx };
      await repeat(() => executeSigned({ url: nextUrl() }, project, signed, { prefer: 'wait=0' }));
      return { project, id: batch.id, recipient, pipelines: pipelines.length, fate: 'executed' };
    },
    async awaitExecuted({ project, id }) {
      const read = () => repeat(() => getBatch(nextUrl(), project.apiKey, id));
      await waitUntil(`the execution of ${id}`, read, ({ body }) => body.status === 'EXECUTED');
    },
    assertRetryable() {
      const others = [...errors.keys()].filter((code) => !RETRYABLE.has(code));
      assert.deepEqual(others, []);
    },
  };
}

const REPEAT_MS = 200;
