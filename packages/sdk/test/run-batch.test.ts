import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Batch } from '@flywheel/api';
import {
  airdrop,
  type BatchProgress,
  burn,
  createFlywheelClient,
  isFlywheelError,
  type Pipeline,
  pipeline,
  type RunBatchOptions,
  runBatch,
  runBatches,
  runKeyOf,
  watchBatch,
} from '@flywheel/sdk';
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { buildApproval } from './approvals.ts';
import { BATCH, BATCH_ID, initAnswer, PIPELINES } from './batches.ts';
import { type Answer, type Respond, type StubService, startStubService } from './stub-service.ts';

const EXECUTE_RESULT = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [] };

/** The stub has no chain to verify. */
const TRUST = 'trust-service';

let wallet: KeyPairSigner;
let proposalApproveTx: string;
let rebuiltApproveTx: string;

before(async () => {
  const [operator, company] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
  wallet = await generateKeyPairSigner();
  proposalApproveTx = await buildApproval({ operator, wallet, company: company.address });
  rebuiltApproveTx = await buildApproval({ operator: company, wallet, company: operator.address });
});

describe('runBatch', () => {
  it('inits, waits for the setup, signs the current approval, executes and returns the end', async () => {
    await using service = await startStubService(
      walkThrough({ reads: ['AVAILABLE_TO_QUEUE', 'FINALIZED', 'FINALIZED', 'EXECUTED'], executes: ['EXECUTED'] }),
    );
    const stages: string[] = [];
    const onProgress = ({ stage }: BatchProgress) => stages.push(stage);
    const batch = await runBatch(client(service), { pipelines: PIPELINES }, { wallet, verify: TRUST, onProgress });
    assert.equal(batch.status, 'EXECUTED');
    assert.deepEqual(stages, ['begun', 'compiled', 'setUp', 'approved', 'ended']);
    const execute = service.received.find(({ path }) => path.endsWith('/execute'));
    const { batchId, signedTx } = JSON.parse(execute?.body ?? '{}');
    assert.equal(batchId, BATCH_ID);
    assert.notEqual(signedTx, rebuiltApproveTx);
    assert.equal(signedTx.slice(-100), rebuiltApproveTx.slice(-100), 'what was signed is the rebuilt approval');
  });

  it('reports an execution issue once, and continues until the end', async () => {
    const executionError = { code: 'ERR_BATCH_EXECUTE_FAILED', message: 'The cluster takes no bundle.' };
    await using service = await startStubService(
      walkThrough({
        reads: ['FINALIZED', 'FINALIZED', 'FINALIZED', 'FINALIZED', 'EXECUTED'],
        executes: ['FINALIZED', 'FINALIZED', 'EXECUTED'],
        executionError,
      }),
    );
    const told: string[] = [];
    const onProgress = (event: BatchProgress) => {
      if (event.stage === 'blocked') told.push(event.executionError.message);
    };
    await runBatch(client(service), { pipelines: PIPELINES }, { wallet, verify: TRUST, onProgress });
    assert.deepEqual(told, [executionError.message]);
    assert.equal(service.received.filter(({ path }) => path.endsWith('/execute')).length, 3);
  });

  it('says once that a person decides, and asks a few times a minute while the service answers so at once', async () => {
    const executes = Array.from({ length: 1_000 }, () => 'FINALIZED' as const);
    await using service = await startStubService(
      walkThrough({ reads: ['FINALIZED'], executes, hasSigned: { awaitsCompany: true } }),
    );
    const stages: string[] = [];
    const onProgress = ({ stage }: BatchProgress) => stages.push(stage);
    await assert.rejects(
      runBatch(client(service), PIPELINES, { wallet, verify: TRUST, timeoutMs: 2_500, onProgress }),
      (error) => isFlywheelError(error, 'ERR_TIMED_OUT'),
    );
    assert.deepEqual(stages, ['begun', 'compiled', 'setUp', 'approved', 'awaitsCompany']);
    const asked = service.received.filter(({ path }) => path.endsWith('/execute')).length;
    assert.ok(asked <= 3, `it has asked ${asked} times`);
  });

  it('reports what holds the setup up', async () => {
    const executionError = { code: 'ERR_BATCH_EXECUTE_FAILED', message: 'The operator lacks 1 SOL.' };
    const reads = ['AVAILABLE_TO_QUEUE', 'AVAILABLE_TO_QUEUE', 'AVAILABLE_TO_QUEUE', 'FAILED'] as const;
    await using service = await startStubService(walkThrough({ reads: [...reads], executes: [], executionError }));
    const told: string[] = [];
    const onProgress = (event: BatchProgress) => {
      if (event.stage === 'blocked') told.push(`${event.batch.status}: ${event.executionError.message}`);
    };
    await runBatch(client(service), PIPELINES, { wallet, verify: TRUST, onProgress });
    assert.deepEqual(told, ['AVAILABLE_TO_QUEUE: The operator lacks 1 SOL.']);
  });

  it('throws the reason if the service releases the request', async () => {
    const walk = walkThrough({ reads: ['FINALIZED'], executes: [] });
    await using service = await startStubService((request, count) =>
      request.path.endsWith('/execute')
        ? { status: 409, body: { error: 'ERR_VAULT_UNDERFUNDED', message: 'The vault holds 1 token, needs 2.' } }
        : walk(request, count),
    );
    const error: unknown = await runBatch(client(service), { pipelines: PIPELINES }, { wallet, verify: TRUST }).catch(
      (caught) => caught,
    );
    assert.ok(isFlywheelError(error, 'ERR_VAULT_UNDERFUNDED'));
    assert.deepEqual([error.batchId, error.idempotencyKey], [BATCH_ID, await runKeyOf(PIPELINES)]);
  });

  it('names the idempotency key in the error of an init whose answer was lost', async () => {
    await using service = await startStubService(() => 'hangUp');
    const unanswered = createFlywheelClient({ url: service.url, apiKey: 'fw_key', maxAttempts: 1 });
    const error: unknown = await runBatch(unanswered, PIPELINES, { wallet, verify: TRUST }).catch((caught) => caught);
    assert.ok(isFlywheelError(error, 'ERR_UNREACHABLE'));
    assert.deepEqual([error.batchId, error.idempotencyKey], [null, await runKeyOf(PIPELINES)]);
  });

  it('neither verifies nor signs a batch whose execution has begun, and follows it to its end', async () => {
    const walk = walkThrough({ reads: ['FINALIZED', 'FINALIZED', 'EXECUTED'], executes: ['FINALIZED', 'EXECUTED'] });
    await using service = await startStubService((request, count) => {
      const answer = walk(request, count);
      return request.path.endsWith('/init') ? { ...answer, headers: { 'idempotency-replayed': 'true' } } : answer;
    });
    const stages: [string, unknown][] = [];
    const unable = { ...wallet, signTransactions: () => assert.fail('The wallet was asked to sign.') };
    const batch = await runBatch(client(service), PIPELINES, {
      wallet: unable,
      verify: { rpcUrl: 'http://127.0.0.1:9' },
      onProgress: (event) => stages.push([event.stage, event.stage === 'approved' ? event.signedTx : undefined]),
    });
    assert.equal(batch.status, 'EXECUTED');
    assert.deepEqual(stages.slice(-2), [
      ['approved', null],
      ['ended', undefined],
    ]);
  });

  it('sends nothing if verify is missing, which types forbid', async () => {
    await using service = await startStubService(() => 'hangUp');
    // @ts-expect-error verify is required.
    const error: unknown = await runBatch(client(service), PIPELINES, { wallet }).catch((caught) => caught);
    assert.ok(isFlywheelError(error, 'ERR_SIGNING_REFUSED'));
    assert.match(error.message, /verify is missing\. Pass \{ rpcUrl \} of a Solana node of your choice/);
    assert.deepEqual(service.received, []);
  });

  it('returns a batch that failed in its setup, and signs nothing', async () => {
    await using service = await startStubService(
      walkThrough({ reads: ['AVAILABLE_TO_QUEUE', 'FAILED'], executes: [] }),
    );
    const batch = await runBatch(client(service), { pipelines: PIPELINES }, { wallet, verify: TRUST });
    assert.equal(batch.status, 'FAILED');
    assert.ok(!service.received.some(({ path }) => path.endsWith('/execute')));
  });
});

describe('a run', () => {
  const THREE = [1, 2, 3].map((ad) => pipeline('WATCH_AD', { ad }, burn(1)));
  const run = (service: StubService, options: Partial<RunBatchOptions> = {}) =>
    runBatch(client(service), THREE, { wallet, verify: TRUST, ...options });

  it('of the same pipelines is the same batch, and reports that it had ended', async () => {
    const records = keepBatches([{ status: 'EXECUTED', executed: 3 }]);
    await using service = await startStubService(records.respond);
    const hadEnded: boolean[] = [];
    const onProgress = (event: BatchProgress) => event.stage === 'ended' && hadEnded.push(event.hadEnded);
    const first = await run(service, { onProgress });
    assert.deepEqual(await run(service, { onProgress }), first);
    assert.deepEqual(hadEnded, [true, true], 'the stub ends a batch at once');
    assert.deepEqual(records.keys(), [await runKeyOf(THREE)]);
  });

  it('sends the pipelines that a failed batch left only with sendRest, batch after batch, each once', async () => {
    const records = keepBatches([
      { status: 'FAILED', executed: 1 },
      { status: 'FAILED', executed: 1 },
      { status: 'EXECUTED', executed: 1 },
    ]);
    await using service = await startStubService(records.respond);
    assert.equal((await run(service)).status, 'FAILED');
    assert.equal(records.keys().length, 1);
    assert.equal((await run(service, { sendRest: true })).status, 'EXECUTED');
    const ads = records.sent().map((pipelines) => pipelines.map(({ payload }) => JSON.parse(payload).ad));
    assert.deepEqual(ads, [[1, 2, 3], [2, 3], [3]]);
    assert.deepEqual(records.keys(), await Promise.all([0, 1, 2].map((rest) => runKeyOf(THREE, { rest }))));
    assert.equal((await run(service)).status, 'EXECUTED', 'the end of the rest is the end of the run');
    assert.equal(records.keys().length, 3);
  });

  it('sends the pipelines of the recipient that caused a failure last and separately', async () => {
    const [bad, good] = ['12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9', 'tNKFd4F2CVwVtJx6Dg9veLLazu5xjUeHRzvdWtjmVjx'];
    const paying = [good, bad, good, bad].map((to, ad) => pipeline('WATCH_AD', { ad }, airdrop(to, 1)));
    const records = keepBatches([
      { status: 'FAILED', executed: 1, failedRecipient: bad },
      { status: 'EXECUTED', executed: 1 },
      { status: 'FAILED', executed: 0, failedRecipient: bad },
      { status: 'EXECUTED', executed: 2 },
    ]);
    await using service = await startStubService(records.respond);
    const send = (sendRest: boolean) => runBatch(client(service), paying, { wallet, verify: TRUST, sendRest });
    assert.equal((await send(false)).status, 'FAILED');
    assert.equal((await send(true)).status, 'EXECUTED');
    const ads = records.sent().map((pipelines) => pipelines.map(({ payload }) => JSON.parse(payload).ad));
    assert.deepEqual(ads, [[0, 1, 2, 3], [2], [1, 3], [1, 3]]);
  });

  it('starts only after the previous run has executed every pipeline', async () => {
    const records = keepBatches([
      { status: 'FAILED', executed: 2 },
      { status: 'EXECUTED', executed: 1 },
      { status: 'EXECUTED', executed: 3 },
    ]);
    await using service = await startStubService(records.respond);
    const early = async (number: number) => {
      const error: unknown = await run(service, { run: number }).catch((caught) => caught);
      assert.ok(isFlywheelError(error, 'ERR_RUN_TOO_EARLY'), String(error));
      return error.message;
    };
    assert.match(await early(2), /^Run 2 starts only after run 1 has executed every pipeline: it was never started\.$/);
    await run(service);
    assert.match(await early(2), /: 1 of its 3 pipelines are not executed\.$/);
    await run(service, { sendRest: true });
    assert.match(await early(3), /after run 2 .*: it was never started\.$/);
    assert.equal(records.keys().length, 2);
    await run(service, { run: 2 });
    await run(service, { run: 2 });
    assert.deepEqual(records.keys().slice(2), [await runKeyOf(THREE, { run: 2 })]);
  });

  it('with a request that this client cannot parse gets the service’s error, and creates nothing', async () => {
    await using service = await startStubService(({ path }) =>
      path.endsWith('/preview')
        ? { status: 400, body: { error: 'ERR_FLYWHEEL_INVALID_ACTION', message: 'LOCK is not implemented.' } }
        : 'hangUp',
    );
    const error: unknown = await runBatch(client(service), '{"pipelines":[{}]}', { wallet, verify: TRUST }).catch(
      (caught) => caught,
    );
    assert.ok(isFlywheelError(error, 'ERR_FLYWHEEL_INVALID_ACTION'), String(error));
  });
});

describe('watchBatch', () => {
  it('throws ERR_TIMED_OUT if the batch has not ended in time', async () => {
    await using service = await startStubService(() => ({ status: 200, body: BATCH }));
    const error: unknown = await watchBatch(client(service), BATCH_ID, { timeoutMs: 50 }).catch((caught) => caught);
    assert.ok(isFlywheelError(error, 'ERR_TIMED_OUT'));
    assert.match(error.message, /still AVAILABLE_TO_QUEUE after 0\.05 s/);
  });
});

interface Outcome {
  readonly status: 'EXECUTED' | 'FAILED';
  readonly executed: number;
  readonly failedRecipient?: string;
}

/** A service that keeps batches by their keys, as the real one does; each ends at once with the next outcome. */
function keepBatches(outcomes: readonly Outcome[]) {
  const batches = new Map<string, { readonly id: string; readonly pipelines: readonly Pipeline[] }>();
  const respond: Respond = ({ path, headers, body }) => {
    if (!path.endsWith('/init')) return { status: 200, body: batchOf(path.split('/').at(-1) ?? '') };
    const key = String(headers['x-idempotency-key']);
    const { pipelines }: { readonly pipelines: readonly Pipeline[] } = JSON.parse(body);
    const known = batches.get(key);
    if (known && JSON.stringify(known.pipelines) !== JSON.stringify(pipelines)) {
      return { status: 422, body: { error: 'ERR_DUPLICATE_IDEMPOTENCY_KEY', message: 'Another body.' } };
    }
    if (pipelines.length === 0) {
      return { status: 400, body: { error: 'ERR_FLYWHEEL_NO_INSTRUCTIONS', message: 'Nothing to do.' } };
    }
    const { id } = known ?? { id: `00000000-0000-8000-8000-00000000000${batches.size}` };
    batches.set(key, { id, pipelines });
    const answer = initAnswer(proposalApproveTx);
    return {
      status: 200,
      body: { ...answer, batch: { ...answer.batch, id } },
      headers: { 'idempotency-replayed': String(known !== undefined) },
    };
  };
  const batchOf = (id: string): Batch => {
    const { status, executed, failedRecipient }: Outcome = outcomes[Number(id.slice(-1))] ?? {
      status: 'FAILED',
      executed: 0,
    };
    const total = [...batches.values()].find((batch) => batch.id === id)?.pipelines.length ?? 0;
    const counts = { total, totalSuccessful: executed, totalFailed: total - executed };
    const failure = failedRecipient && { pipeline: executed, action: 0, recipient: failedRecipient, reason: 'Frozen.' };
    const executeResult = {
      ...counts,
      successfulExecutions: [],
      ...(failure && { failedRecipient: failure, heldRecipients: [failedRecipient] }),
    };
    return { ...BATCH, id, status, executeResult };
  };
  return {
    respond,
    keys: () => [...batches.keys()],
    sent: () => [...batches.values()].map(({ pipelines }) => pipelines),
  };
}

describe('runBatches', () => {
  const many = Array.from({ length: 1_001 }, (_, i) => pipeline('WATCH_AD', { adId: String(i) }, burn(1)));
  const sentBy = ({ received }: StubService) =>
    received.filter(({ path }) => path.endsWith('/init')).map(({ body }) => JSON.parse(body).pipelines.length);

  it('runs a batch of at most 1,000 pipelines after the other, and none after one that is not executed', async () => {
    for (const [reads, sent] of [
      [['EXECUTED'], [1_000, 1]],
      [['FINALIZED', 'FINALIZED', 'FAILED'], [1_000]],
    ] as const) {
      await using service = await startStubService(walkThrough({ reads: [...reads], executes: ['FAILED'] }));
      const batches = await Array.fromAsync(runBatches(client(service), many, { wallet, verify: TRUST }));
      assert.deepEqual([batches.map(({ status }) => status), sentBy(service)], [sent.map(() => reads.at(-1)), sent]);
    }
  });

  it('sends nothing if two of the batches would be equal, which would be paid once', async () => {
    await using service = await startStubService(walkThrough({ reads: ['EXECUTED'], executes: [] }));
    const [one] = many;
    assert.ok(one);
    const equal = Array.from({ length: 2_000 }, () => one);
    await assert.rejects(Array.fromAsync(runBatches(client(service), equal, { wallet, verify: TRUST })), RangeError);
    assert.deepEqual(service.received, []);
  });

  it('starts no batch of a run before the previous run has executed the pipelines of all its batches', async () => {
    const records = keepBatches([
      { status: 'EXECUTED', executed: 1_000 },
      { status: 'FAILED', executed: 0 },
      { status: 'EXECUTED', executed: 1 },
      { status: 'EXECUTED', executed: 1_000 },
      { status: 'EXECUTED', executed: 1 },
    ]);
    await using service = await startStubService(records.respond);
    const run = (options: Partial<RunBatchOptions>) =>
      Array.fromAsync(runBatches(client(service), many, { wallet, verify: TRUST, ...options }));
    await run({});
    await assert.rejects(run({ run: 2 }), (error) => isFlywheelError(error, 'ERR_RUN_TOO_EARLY'));
    assert.equal(records.keys().length, 2, 'nothing is paid a second time');
    await run({ sendRest: true });
    await run({ run: 2 });
    assert.deepEqual(
      records.sent().map(({ length }) => length),
      [1_000, 1, 1, 1_000, 1],
    );
  });
});

interface Walk {
  /** Status of the batch at each read; the last one repeats. */
  readonly reads: readonly Batch['status'][];
  /** Status that each execute answers. */
  readonly executes: readonly Batch['status'][];
  readonly executionError?: Batch['executionError'];
  /** Fields of the batch after the first execute. */
  readonly hasSigned?: Pick<Batch, 'awaitsCompany'>;
}

/** Answers like a service whose batch has these statuses. */
function walkThrough({
  reads,
  executes,
  executionError,
  hasSigned = {},
}: Walk): (...request: Parameters<Respond>) => Answer {
  let [read, executed] = [0, 0];
  return ({ path }) => {
    if (path.endsWith('/init')) return { status: 200, body: initAnswer(proposalApproveTx) };
    if (path.endsWith('/execute')) {
      const status = executes[executed++] ?? 'FAILED';
      if (status === 'FINALIZED') return { status: 202, body: { batchId: BATCH_ID, status } };
      return { status: 200, body: { batchId: BATCH_ID, status, result: EXECUTE_RESULT } };
    }
    const status = reads[Math.min(read++, reads.length - 1)] ?? 'FAILED';
    const approval = path.includes('approval') ? { proposalApproveTx: rebuiltApproveTx } : {};
    const isOpen = status === 'FINALIZED' || status === 'AVAILABLE_TO_QUEUE';
    const issue = isOpen && executionError ? { executionError } : {};
    const result = status === 'EXECUTED' ? { executeResult: EXECUTE_RESULT } : {};
    const signed = executed > 0 ? hasSigned : {};
    return { status: 200, body: { ...BATCH, status, ...approval, ...issue, ...signed, ...result } };
  };
}

function client({ url }: StubService) {
  return createFlywheelClient({ url, apiKey: 'fw_key' });
}
