import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BatchDetail, type BatchStatus, InitBatchRequest, type Pipeline } from '@flywheel/api';
import { createFlywheelClient } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { keyOfPart, planAirdrop } from '../src/commands/airdrop/plan.ts';
import { type PartListeners, sendPart } from '../src/commands/airdrop/send.ts';
import { createConsoleClient } from '../src/console-client.ts';

const recipients = await Promise.all(Array.from({ length: 24 }, async () => (await generateKeyPairSigner()).address));
const rows = recipients.map((address) => ({ address, amount: '1' }));
const { identity, parts } = planAirdrop(rows, { type: 'SEASON', round: '', run: 1, token: {} });
const [pipelines = []] = parts;

describe('sendPart after a batch failed', () => {
  it('sends exactly the unsent pipelines as a new batch, under the key of the next attempt', async () => {
    assert.ok(pipelines.length >= 4);
    const service = stubService([
      { status: 'FAILED', executed: 2 },
      { status: 'FAILED', executed: 1 },
      { status: 'EXECUTED', executed: pipelines.length - 3 },
    ]);
    const { outcomes, failure } = await send(service, { sendRest: true });
    assert.equal(failure, null);
    assert.deepEqual(
      service.asked.map(({ key }) => key),
      await Promise.all([0, 1, 2].map((attempt) => keyOfPart(pipelines, identity, attempt))),
    );
    const proofsFrom = (position: number) => pipelines.slice(position).map(({ pipeline }) => pipeline.payload);
    assert.deepEqual(
      service.asked.map((request) => request.pipelines.map(({ payload }) => payload)),
      [proofsFrom(0), proofsFrom(2), proofsFrom(3)],
    );
    assert.deepEqual(
      rows.map((_, row) => outcomes.get(row)?.status),
      rows.map(() => 'executed'),
    );
    const batchOf = (position: number) => outcomes.get(pipelines[position]?.rows[0] ?? -1)?.batchId;
    assert.deepEqual([0, 1, 2, 3].map(batchOf), [idOf(0), idOf(0), idOf(1), idOf(2)]);
  });

  it('sends nothing without sendRest, and reports which rows were paid', async () => {
    const service = stubService([{ status: 'FAILED', executed: 2 }]);
    const { outcomes, failure } = await send(service, { sendRest: false });
    assert.deepEqual(failure, { batchId: idOf(0), message: 'Pipeline 2 failed.' });
    assert.equal(service.asked.length, 1);
    const paid = pipelines.slice(0, 2).flatMap((planned) => planned.rows);
    const atFault = pipelines[2]?.rows ?? [];
    for (const row of rows.keys()) {
      const expected = paid.includes(row) ? 'executed' : atFault.includes(row) ? 'failed' : 'waiting';
      assert.equal(outcomes.get(row)?.status, expected, `row ${row}`);
    }
  });
});

interface Outcome {
  readonly status: BatchStatus;
  readonly executed: number;
}

/** A service in which each batch has ended before it is read. */
function stubService(outcomes: readonly Outcome[]) {
  const asked: { readonly key: string; readonly pipelines: readonly Pipeline[] }[] = [];
  const answer = (body: object) =>
    new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } });
  const stubFetch: typeof fetch = async (target, init) => {
    const { pathname } = new URL(String(target));
    const id = pathname.split('/').at(-1) ?? '';
    if (pathname.startsWith('/console/api/')) return answer(detailOf(id));
    if (init?.method !== 'POST') return answer(batchOf(id));
    const key = new Headers(init.headers).get('x-idempotency-key') ?? '';
    // The question if a key is used; only the first batch of an earlier run exists.
    if (init.body === '{"pipelines":[]}') {
      const body = { error: 'ERR_FLYWHEEL_NO_INSTRUCTIONS', message: 'Nothing to do.' };
      return new Response(JSON.stringify(body), { status: 400, headers: { 'content-type': 'application/json' } });
    }
    const request = InitBatchRequest.parse(JSON.parse(String(init.body)));
    asked.push({ key, pipelines: request.pipelines });
    const compiled = request.pipelines.map((pipeline) => ({ ...pipeline, instructions: [] }));
    const { id: batchId, flywheelId, dateCreated } = batchOf(idOf(asked.length - 1));
    const batch = { id: batchId, flywheelId, dateCreated, status: 'AVAILABLE_TO_QUEUE', pipelines: compiled };
    return answer({ proposalApproveTx: '', batch });
  };
  const client = createFlywheelClient({ url: 'http://stub', apiKey: 'key', fetch: stubFetch });
  const console = createConsoleClient({ url: 'http://stub', fetch: stubFetch });

  function batchOf(id: string): BatchDetail['batch'] {
    const { status = 'FAILED', executed = 0 } = outcomes[attemptOf(id)] ?? {};
    const total = asked[attemptOf(id)]?.pipelines.length ?? 0;
    const counts = { total, totalSuccessful: executed, totalFailed: total - executed };
    const now = new Date(0).toISOString();
    return {
      ...{ id, flywheelId: 'f', tokenId: 't', mintAddress: 'm', status, batchIndex: '1', vaultIndex: '0' },
      ...{ multisig: 's', vaultAddress: 'v', dateCreated: now, dateUpdated: now },
      executeResult: { ...counts, successfulExecutions: [] },
    };
  }

  function detailOf(id: string): BatchDetail {
    const attempt = attemptOf(id);
    const { status = 'FAILED', executed = 0 } = outcomes[attempt] ?? {};
    const stateOf = (position: number) =>
      position < executed ? 'executed' : position === executed ? 'failed' : 'skipped';
    return {
      batch: batchOf(id),
      projectId: idOf(99),
      ...{ waitsFor: 'nothing', timeline: [], bundles: [], executedPipelines: executed },
      ...(status === 'FAILED' && {
        failure: { message: `Pipeline ${executed} failed.`, remedy: '', isFinal: true },
      }),
      pipelines: (asked[attempt]?.pipelines ?? []).map((pipeline, position) => ({
        ...{ ...pipeline, instructions: [], memo: '', bytes: 0, maxBytes: 0, state: stateOf(position) },
        ...(position < executed && { signature: `signature-${attempt}` }),
      })),
    };
  }

  return { asked, client, console };
}

const SILENT: PartListeners = { onProgress: () => undefined, onEvent: () => undefined, note: () => undefined };

async function send(service: ReturnType<typeof stubService>, { sendRest }: { readonly sendRest: boolean }) {
  // The stub has no chain that could show the end of a batch.
  const verify = 'trust-service' as const;
  const deps = {
    ...{ client: service.client, console: service.console, projectId: idOf(99), wallet: await generateKeyPairSigner() },
    ...{ verify, signal: new AbortController().signal },
  };
  return sendPart(deps, { identity, pipelines, sendRest }, SILENT);
}

function idOf(attempt: number): string {
  return `00000000-0000-8000-8000-${String(attempt).padStart(12, '0')}`;
}

function attemptOf(id: string): number {
  return Number(id.slice(-12));
}
