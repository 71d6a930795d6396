import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { decodeInstruction } from '@flywheel/protocol';
import { assertError } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner, getBase64Encoder } from '@solana/kit';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';

let world: World;
let project: TestProject;
before(async () => {
  world = await openWorld();
  project = await createProject(world);
});
after(() => world.stop());

describe('POST init, 200,', () => {
  it('has the compiled pipelines, proof memo first, with the vault as signer', async () => {
    const { address: recipient } = await generateKeyPairSigner();
    const pipelines = [
      { type: 'WATCH_AD', payload: '{"adId":"123"}', actions: [{ action: 'MEMO', message: 'grüezi' }] },
      { ...airdropPipeline(recipient, 0.000001) },
    ];
    const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, pipelines));
    assert.equal(batch.status, 'AVAILABLE_TO_QUEUE');
    assert.equal(batch.flywheelId, project.flywheelId);
    assert.match(batch.dateCreated, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.ok(getBase64Encoder().encode(proposalApproveTx).length < 1_232);
    for (const [i, { type, payload, actions, instructions }] of batch.pipelines.entries()) {
      assert.deepEqual({ type, payload, actions }, pipelines[i]);
      const [memo] = instructions.map(decodeInstruction);
      const hash = createHash('sha256').update(`${type}\0${payload}`).digest('hex');
      assert.equal(memo.programAddress, MEMO_PROGRAM);
      assert.equal(Buffer.from(memo.data).toString(), `flywheel:v1:${type}:${hash}`);
      assert.deepEqual(
        memo.accounts.map(({ address }: { address: string }) => address),
        [project.vaultAddress],
      );
    }
    assert.deepEqual(
      batch.pipelines.map(({ instructions }: { instructions: string[] }) => instructions.length),
      [2, 3],
    );
  });

  for (const { decimals, token2022 } of [
    { decimals: 0, token2022: false },
    { decimals: 9, token2022: true },
  ]) {
    it(`has amounts in base units of ${decimals} decimals, ${token2022 ? 'Token-2022' : 'SPL Token'}`, async () => {
      const own = await createProject(world, { decimals, token2022, burnLimit: '1000000000', airdropLimit: '1' });
      const amount = decimals === 0 ? 999_999_999 : 123_456.789012345;
      const { batch } = requireOk(await init(world.url, own.apiKey, [burnPipeline(amount)]));
      const [, burn] = batch.pipelines[0].instructions.map(decodeInstruction);
      const view = new DataView(Uint8Array.from(burn.data).buffer);
      assert.equal(burn.data[0], 15, 'BurnChecked');
      assert.equal(view.getBigUint64(1, true), decimals === 0 ? 999_999_999n : 123_456_789_012_345n);
      assert.equal(burn.data[9], decimals);
    });
  }

  it('has a warning for a proof that was used before', async () => {
    const pipeline = burnPipeline();
    const first = requireOk(await init(world.url, project.apiKey, [pipeline]));
    assert.equal('warnings' in first, false);
    const { warnings } = requireOk(await init(world.url, project.apiKey, [burnPipeline(), pipeline, pipeline]));
    assert.deepEqual(
      warnings.map(({ pipeline }: { pipeline: number }) => pipeline),
      [1, 2],
    );
  });

  it('accepts 1,000 pipelines', async () => {
    const own = await createProject(world);
    const pipelines = Array.from({ length: 1_000 }, () => burnPipeline(0.5));
    const { batch } = requireOk(await init(world.url, own.apiKey, pipelines));
    assert.equal(batch.pipelines.length, 1_000);
  });
});

describe('POST init, 400,', () => {
  const refused = async (body: unknown, code: string, message: RegExp, key = project.apiKey) => {
    const headers = { 'x-idempotency-key': randomUUID() };
    assertError(await send(world.url, 'POST', '/v1/flywheel/batch/init', { key, headers, body }), 400, code, message);
  };
  const of = (...pipelines: readonly unknown[]) => ({ pipelines });
  const acting = (...actions: readonly unknown[]) => ({ type: 'WATCH_AD', payload: '{}', actions });

  it('is ERR_INVALID_REQUEST with the position of an issue outside actions', async () => {
    await refused({}, 'ERR_INVALID_REQUEST', /pipelines/);
    await refused([], 'ERR_INVALID_REQUEST', /object/);
    await refused(of({ ...burnPipeline(), type: 'has space' }), 'ERR_INVALID_REQUEST', /pipelines\[0\]\.type/);
    await refused(of({ ...burnPipeline(), payload: 'nothing' }), 'ERR_INVALID_REQUEST', /pipelines\[0\]\.payload/);
    await refused(of({ ...burnPipeline(), payload: '[]' }), 'ERR_INVALID_REQUEST', /object/);
    await refused(of({ ...burnPipeline(), extra: 1 }), 'ERR_INVALID_REQUEST', /extra/);
    await refused(of({ type: 'A', payload: '{}' }), 'ERR_INVALID_REQUEST', /pipelines\[0\]\.actions/);
    await refused(of(...Array.from({ length: 1_001 }, () => burnPipeline())), 'ERR_INVALID_REQUEST', /1,?000/);
    const payload = JSON.stringify({ text: 'x'.repeat(65_536) });
    await refused(of({ ...burnPipeline(), payload }), 'ERR_INVALID_REQUEST', /65,?536/);
  });

  it('is ERR_INVALID_REQUEST for a missing or malformed idempotency key', async () => {
    const options = { key: project.apiKey, body: of(burnPipeline()) };
    const path = '/v1/flywheel/batch/init';
    assertError(await send(world.url, 'POST', path, options), 400, 'ERR_INVALID_REQUEST', /x-idempotency-key/);
    const headers = { 'x-idempotency-key': 'mine' };
    assertError(
      await send(world.url, 'POST', path, { ...options, headers }),
      400,
      'ERR_INVALID_REQUEST',
      /idempotency/,
    );
  });

  it('is ERR_FLYWHEEL_NO_INSTRUCTIONS or ERR_FLYWHEEL_ACTIONS_EMPTY for empty lists', async () => {
    await refused(of(), 'ERR_FLYWHEEL_NO_INSTRUCTIONS', /at least one pipeline/);
    await refused(of(burnPipeline(), acting()), 'ERR_FLYWHEEL_ACTIONS_EMPTY', /pipelines\[1\]\.actions/);
  });

  it('is ERR_FLYWHEEL_INVALID_ACTION for any issue inside an action', async () => {
    const { address: toAddress } = await generateKeyPairSigner();
    for (const [action, message] of [
      [{ action: 'BUYBACK', amount: 1 }, /BUYBACK is declared but not implemented/],
      [{ action: 'LOCK', amount: 1, vesting: {} }, /LOCK is declared but not implemented/],
      [{ action: 'UNLOCK' }, /UNLOCK is declared but not implemented/],
      [{ action: 'MINT' }, /pipelines\[0\]\.actions\[0\]\.action/],
      [null, /pipelines\[0\]\.actions\[0\]/],
      [{ action: 'BURN' }, /amount/],
      [{ action: 'BURN', amount: '1' }, /amount/],
      [{ action: 'BURN', amount: 0 }, /amount/],
      [{ action: 'BURN', amount: -1 }, /amount/],
      [{ action: 'BURN', amount: 0.0000001 }, /6 fraction digits/],
      [{ action: 'BURN', amount: 18_446_744_073_710 }, /18446744073709\.551615/],
      [{ action: 'BURN', amount: 1, memo: 'x' }, /memo/],
      [{ action: 'AIRDROP', amount: 1, toAddress: 'nobody' }, /toAddress/],
      [{ action: 'AIRDROP', amount: 1, toAddress: project.vaultAddress }, /belongs to a program/],
      [{ action: 'AIRDROP', amount: 1, toAddress: MEMO_PROGRAM }, /is the Memo program, not a wallet/],
      [{ action: 'AIRDROP', amount: 1, toAddress: project.mint }, /is a mint, not a wallet/],
      [{ action: 'AIRDROP', toAddress }, /amount/],
      [{ action: 'MEMO', message: '' }, /message/],
      [{ action: 'MEMO', message: 'a\0b' }, /U\+0000/],
      [{ action: 'MEMO', message: `flywheel:v1:PURCHASE:${'f'.repeat(64)}` }, /reserved for proof memos/],
      [{ action: 'MEMO', message: 'flywheel:' }, /reserved for proof memos/],
      [{ action: 'MEMO', message: '\ud800' }, /surrogate/],
    ] as const) {
      await refused(of(acting(action)), 'ERR_FLYWHEEL_INVALID_ACTION', message);
    }
    const text = `{"pipelines":[{"type":"A","payload":"{}","actions":[{"action":"BURN","amount":0.10000000000000000555}]}]}`;
    const headers = { 'x-idempotency-key': randomUUID() };
    const options = { key: project.apiKey, headers, text };
    const answer = await send(world.url, 'POST', '/v1/flywheel/batch/init', options);
    assertError(answer, 400, 'ERR_FLYWHEEL_INVALID_ACTION', /at most 15/);
  });

  it('is ERR_FLYWHEEL_INVALID_PROOF_TYPE for an unregistered type and a payload that violates its schema', async () => {
    const payloadSchema = { type: 'object', required: ['orderId'], properties: { orderId: { type: 'integer' } } };
    const own = await createProject(world, { proofTypes: [{ type: 'ORDER', payloadSchema }] });
    await refused(of(burnPipeline()), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', /ORDER/, own.apiKey);
    const order = { ...burnPipeline(), type: 'ORDER' };
    await refused(of(order), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', /orderId/, own.apiKey);
    requireOk(await init(world.url, own.apiKey, [{ ...order, payload: '{"orderId":1}' }]));
  });

  it('is ERR_FLYWHEEL_PIPELINE_TOO_BIG with the pipeline’s bytes and the limit', async () => {
    const memo = (length: number) => ({ ...acting({ action: 'MEMO', message: 'm'.repeat(length) }) });
    await refused(of(burnPipeline(), memo(900)), 'ERR_FLYWHEEL_PIPELINE_TOO_BIG', /pipelines\[1\].* 856/);
  });

  it('is ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED with limit, used, requested and reset; burns and airdrops apart', async () => {
    const own = await createProject(world, { burnLimit: '10', airdropLimit: '5' });
    requireOk(await init(world.url, own.apiKey, [burnPipeline(7.5)]));
    const message = /burn limit is 10 tokens; 7\.5 are used and this batch needs 3\..*T00:00:00\.000Z/;
    await refused(of(burnPipeline(3)), 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', message, own.apiKey);
    const again = await init(world.url, own.apiKey, [burnPipeline(3)]);
    const seconds = Number(again.headers.get('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 86_400, `Retry-After is ${seconds}.`);
    const { address } = await generateKeyPairSigner();
    requireOk(await init(world.url, own.apiKey, [burnPipeline(2.5), airdropPipeline(address, 5)]));
    await refused(of(airdropPipeline(address, 1)), 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', /airdrop/, own.apiKey);
  });

  it('comes from shape, emptiness, actions, scopes, proof type and size, in this order over the whole request', async () => {
    const own = await createProject(world, { scopes: ['airdrop'], proofTypes: [{ type: 'ORDER' }] });
    const faults: readonly [unknown, string][] = [
      [{ ...burnPipeline(), extra: 1 }, 'ERR_INVALID_REQUEST'],
      [acting(), 'ERR_FLYWHEEL_ACTIONS_EMPTY'],
      [acting({ action: 'UNLOCK' }), 'ERR_FLYWHEEL_INVALID_ACTION'],
      [{ ...burnPipeline(), type: 'ORDER' }, 'ERR_KEY_SCOPES_UNAUTHORIZED'],
      [acting({ action: 'MEMO', message: 'x' }), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE'],
      [{ ...acting({ action: 'MEMO', message: 'x'.repeat(900) }), type: 'ORDER' }, 'ERR_FLYWHEEL_PIPELINE_TOO_BIG'],
    ];
    for (const [i, [, code]] of faults.entries()) {
      const pipelines = faults
        .slice(i)
        .map(([pipeline]) => pipeline)
        .reverse();
      const { body } = await init(world.url, own.apiKey, pipelines);
      assert.equal(body.error, code);
    }
  });
});

describe('POST init, 401, 403, 404,', () => {
  it('distinguishes keys that are missing, malformed, unknown, revoked and expired', async () => {
    const at = (key?: string) => send(world.url, 'GET', '/v1/flywheel/batch/current', key === undefined ? {} : { key });
    assertError(await at(), 401, 'ERR_UNAUTHORIZED', /x-service-api-key/);
    assertError(await at('fwk_short'), 401, 'ERR_UNAUTHORIZED');
    assertError(
      await at(`${project.apiKey.slice(0, -1)}${project.apiKey.endsWith('0') ? '1' : '0'}`),
      401,
      'ERR_UNAUTHORIZED',
      /mistyped: its last six characters, a checksum/,
    );
    const { createApiKey } = await import('../../src/projects/api-key.ts');
    assertError(await at(createApiKey(new Uint8Array(32).fill(7)).apiKey), 404, 'ERR_KEY_NOT_FOUND');
    const own = await createProject(world);
    await world.db
      .updateTable('api_keys')
      .set({ expires_at: new Date(0) })
      .where('project_id', '=', own.projectId)
      .execute();
    assertError(await at(own.apiKey), 401, 'ERR_UNAUTHORIZED', /expired/);
    const other = await createProject(world);
    await world.db
      .updateTable('api_keys')
      .set({ revoked_at: new Date() })
      .where('project_id', '=', other.projectId)
      .execute();
    assertError(await at(other.apiKey), 401, 'ERR_UNAUTHORIZED', /revoked/);
  });

  it('is ERR_TOKEN_NOT_FOUND or ERR_FLYWHEEL_NOT_FOUND if they are gone', async () => {
    const own = await createProject(world);
    const archived = { archived_at: new Date() };
    await world.db.updateTable('flywheels').set(archived).where('project_id', '=', own.projectId).execute();
    assertError(await init(world.url, own.apiKey, [burnPipeline()]), 404, 'ERR_FLYWHEEL_NOT_FOUND');
    await world.db.updateTable('tokens').set(archived).where('project_id', '=', own.projectId).execute();
    assertError(await init(world.url, own.apiKey, [burnPipeline()]), 404, 'ERR_TOKEN_NOT_FOUND');
  });

  it('is ERR_KEY_SCOPES_UNAUTHORIZED for an action whose scope the key lacks; memos need none', async () => {
    const own = await createProject(world, { scopes: ['airdrop'] });
    const refused = await init(world.url, own.apiKey, [burnPipeline()]);
    assertError(refused, 403, 'ERR_KEY_SCOPES_UNAUTHORIZED', /pipelines\[0\]\.actions\[0\]: BURN needs the scope burn/);
    const memo = { type: 'NOTE', payload: '{}', actions: [{ action: 'MEMO', message: 'hello' }] };
    requireOk(await init(world.url, own.apiKey, [memo]));
  });
});

describe('POST init, 500,', () => {
  it('is ERR_BATCH_INIT_FAILED and stores nothing, and the same key works afterwards', async () => {
    const own = await createProject(world);
    const key = randomUUID();
    await world.db.schema.alterTable('pipelines').renameTo('pipelines_gone').execute();
    const failed = await init(world.url, own.apiKey, [burnPipeline()], key);
    await world.db.schema.alterTable('pipelines_gone').renameTo('pipelines').execute();
    assertError(failed, 500, 'ERR_BATCH_INIT_FAILED');
    requireOk(await init(world.url, own.apiKey, [burnPipeline()], key));
  });
});
