import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ErrorCode, isApiError, type Pipeline, type ProofType } from '@flywheel/api';
import { json, SESSION_TOKEN, startTestServer, WALLET } from '@flywheel/testing/test-server';
import { generateKeyPairSigner } from '@solana/kit';
import { pino } from 'pino';
import { systemClock } from '../../src/clock.ts';
import {
  checkPayloads,
  MAX_SCHEMA_BYTES,
  MAX_SCHEMAS_BYTES,
  requireSchemas,
  trySchema,
} from '../../src/payload-schemas/check.ts';
import { createSchemaPool, type SchemaPool } from '../../src/payload-schemas/pool.ts';

const log = pino({ level: 'silent' });
type Hostile = readonly [payloadSchema: Record<string, unknown>, payload: string];
const EXPONENTIAL: Hostile = [
  { properties: { a: { pattern: '^(a+)+$' } } },
  JSON.stringify({ a: `${'a'.repeat(60)}b` }),
];
const REPETITIONS: Hostile = [{ patternProperties: { '^(([a-z])+.)+[A-Z]([a-z])+$': {} } }, `{"${'a'.repeat(80)}":1}`];
/** Each definition refers to the next one twice: 2^40 validations. */
const REFERENCES: Hostile = [
  {
    $defs: {
      d40: { not: {} },
      ...Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => {
          const next = { $ref: `#/$defs/d${i + 1}` };
          return [`d${i}`, { anyOf: [next, next] }];
        }),
      ),
    },
    $ref: '#/$defs/d0',
  },
  '{}',
];

/** Other tests may take the CPU, so that only the CPU time of a thread decides. */
const WALL_FACTOR = 1_000;
let schemas: SchemaPool;
before(() => {
  schemas = createSchemaPool({ log, clock: systemClock, wallFactor: WALL_FACTOR });
});
after(() => schemas.close());

describe('checkPayloads', () => {
  it('requires payloads that satisfy the schema registered for their type', async () => {
    const payloadSchema = {
      type: 'object',
      required: ['adId'],
      properties: { adId: { type: 'string', maxLength: 3 } },
    };
    const types = [
      { type: 'WATCH_AD', payloadSchema },
      { type: 'FREE' },
      { type: 'CLOSED', payloadSchema: { not: {} } },
    ];
    const check = (...payloads: readonly string[]) =>
      checkPayloads({ schemas }, project('p1', ...types), [
        pipeline('FREE', '{}'),
        ...payloads.map((payload) => pipeline('WATCH_AD', payload)),
        ...(payloads.length > 1 ? [pipeline('CLOSED', '{}')] : []),
      ]);
    await check('{"adId":"123"}');
    const tooLong =
      /^pipelines\[1\]\.payload does not satisfy the schema registered for WATCH_AD: \/adId must NOT have more than 3 characters\.$/;
    await refused(check('{"adId":"1234"}'), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', tooLong);
    await refused(check('{}'), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', /the payload must have required property 'adId'/);
    // The first pipeline is named, whatever its type.
    await refused(check('{"adId":"1234"}', '{}'), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', tooLong);
    await refused(check('{"adId":"1"}', '{"adId":"2"}'), 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', /^pipelines\[3\]\.payload/);
  });

  it('rejects payloads of a schema that no payload can satisfy', async (test) => {
    const invalid: [object, RegExp][] = [
      [{ type: 'nonsense' }, /the schema registered for T cannot be used: type must be/],
      [{ $ref: 'https://example.com/schema' }, /can't resolve reference/],
      [{ $ref: '#' }, /call stack/],
      [{ $async: true }, /\$async schemas are not supported/],
    ];
    // On a slow machine a full call stack takes longer than the limit of a schema.
    const patient = createSchemaPool({ log, clock: systemClock, schemaCpuMs: 5_000, wallFactor: WALL_FACTOR });
    test.after(() => patient.close());
    for (const [payloadSchema, message] of invalid) {
      const of = project('p2', { type: 'T', payloadSchema: { ...payloadSchema } });
      await refused(
        checkPayloads({ schemas: patient }, of, [pipeline('T', '{}')]),
        'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
        message,
      );
    }
  });

  it('answers a registered schema that runs out of CPU time with an error that may be retried, and goes on', async () => {
    const of = project(
      'p3',
      { type: 'T', payloadSchema: EXPONENTIAL[0] },
      { type: 'U', payloadSchema: { type: 'object' } },
    );
    await refused(
      checkPayloads({ schemas }, of, [pipeline('U', '{}'), pipeline('T', '{}'), pipeline('T', EXPONENTIAL[1])]),
      'ERR_SCHEMA_CHECK_UNAVAILABLE',
      /^pipelines\[2\]\.payload was not checked: the schema registered for T needs more than 50\.4 ms of CPU time\. Try again in 5 s\.$/,
    );
    await checkPayloads({ schemas }, of, [pipeline('U', '{}'), pipeline('T', '{"a":"aa"}')]);
  });

  it('names no pipeline while the service is busy with other schemas', async () => {
    const busy = { run: async () => ({ status: 'starved' }) as const };
    const of = project('p7', { type: 'T', payloadSchema: {} });
    await refused(
      checkPayloads({ schemas: busy }, of, [pipeline('T', '{}')]),
      'ERR_SCHEMA_CHECK_UNAVAILABLE',
      /^body was not checked in time: the service is busy with other schemas\. Try again in 5 s\.$/,
    );
  });

  it('keeps the identifiers of schemas apart', async () => {
    const withId = (type: string) => ({ $id: 'https://example.com/s', type: 'object', properties: { a: { type } } });
    const payload = pipeline('T', '{"a":"text"}');
    await checkPayloads({ schemas }, project('p4', { type: 'T', payloadSchema: withId('string') }), [payload]);
    const other = checkPayloads({ schemas }, project('p5', { type: 'T', payloadSchema: withId('number') }), [payload]);
    await refused(other, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', /\/a must be number/);
  });

  it('needs no thread for a project without schemas', async () => {
    const unused = { run: () => assert.fail('a thread was asked') };
    await checkPayloads({ schemas: unused }, project('p6', { type: 'T' }), [pipeline('T', '{}')]);
  });
});

describe('requireSchemas', () => {
  const register = (...payloadSchemas: readonly (ProofType['payloadSchema'] | undefined)[]) =>
    requireSchemas(
      { schemas },
      WALLET,
      payloadSchemas.map((payloadSchema) => (payloadSchema === undefined ? {} : { payloadSchema })),
    );
  const good = { type: 'object', $schema: 'https://json-schema.org/draft/2020-12/schema' };

  it('names the first schema that cannot be registered', async () => {
    await register(good, undefined);
    const named = (payloadSchema: object, message: RegExp) =>
      refused(register(undefined, good, { ...payloadSchema }), 'ERR_INVALID_REQUEST', message);
    await named(
      { type: 'nonsense' },
      /^body\.proofTypes\[2\]\.payloadSchema is not a JSON Schema \(2020-12\): data\/type must be/,
    );
    await named({ $async: true }, /not supported/);
    await named({ $schema: 'https://example.com/of-my-own' }, /no schema with key or ref/);
  });

  it('bounds the size, depth and number of values of a schema, and the size of all together', async () => {
    const deep = (levels: number): object => (levels === 1 ? {} : { not: deep(levels - 1) });
    const describing = (length: number) => ({ description: 'a'.repeat(length) });
    const refusals: [readonly object[], RegExp][] = [
      [[describing(MAX_SCHEMA_BYTES)], /has 32786 bytes; a schema may have 32768\.$/],
      [[deep(33)], /nests deeper than 32 levels\.$/],
      [[{ enum: Array.from({ length: 5_000 }, (_, i) => i) }], /has more than 5000 values\.$/],
      [
        Array.from({ length: 9 }, () => describing(MAX_SCHEMAS_BYTES / 8 - 20)),
        /^body\.proofTypes have schemas of 29\d{4} bytes together; a project may have 262144\.$/,
      ],
    ];
    for (const [payloadSchemas, message] of refusals) {
      await refused(register(...payloadSchemas.map((each) => ({ ...each }))), 'ERR_INVALID_REQUEST', message);
    }
    await register({ ...deep(32) });
  });

  it('refuses a schema that does not compile in its CPU time', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 480 }, (_, i) => [`p${i}`, { oneOf: [{ pattern: `^${i}` }, { minItems: i }] }]),
    );
    await refused(
      register({ properties }),
      'ERR_INVALID_REQUEST',
      /^body\.proofTypes\[0\]\.payloadSchema needs more than 50 ms of CPU time/,
    );
  });
});

describe('trySchema', () => {
  it('answers what is wrong with the schema, or with the payload', async () => {
    const tried = (payloadSchema: object, payload: string) =>
      trySchema({ schemas }, WALLET, { payloadSchema: { ...payloadSchema }, payload });
    assert.deepEqual(await tried({ required: ['a'] }, '{"a":1}'), { schemaProblem: null, payloadProblem: null });
    assert.deepEqual(await tried({ required: ['a'] }, '{}'), {
      schemaProblem: null,
      payloadProblem: "the payload must have required property 'a'",
    });
    for (const payload of ['{}', '[]']) {
      const { schemaProblem, payloadProblem } = await tried({ type: 'nonsense' }, payload);
      assert.match(String(schemaProblem), /is not a JSON Schema/);
      assert.equal(payloadProblem, null);
    }
  });

  it('refuses a payload that init refuses whatever the schema', async () => {
    const problemOf = async (payload: string) =>
      (await trySchema({ schemas }, WALLET, { payloadSchema: {}, payload })).payloadProblem;
    assert.equal(await problemOf('[]'), 'the payload must be the text of one JSON object, not of an array');
    assert.equal(await problemOf('null'), 'the payload must be the text of one JSON object, not of null');
    assert.match(String(await problemOf('{')), /^the payload is not the text of a JSON object \(.*\)$/);
  });
});

describe('a hostile schema', () => {
  it('is run by no thread that answers requests', async () => {
    // No job runs out of time here: the server answers although a schema does not end.
    const endless = createSchemaPool({ log, clock: systemClock, schemaCpuMs: 1e9, wallFactor: 1 });
    await using server = await startTestServer({
      consoleHandlers: {
        trySchema: async ({ wallet }, { body }) => ({
          status: 200,
          body: await trySchema({ schemas: endless }, wallet, body),
        }),
      },
    });
    const [payloadSchema, payload] = EXPONENTIAL;
    const cookie = `flywheel_session=${SESSION_TOKEN}`;
    const trial = server.fetch('/console/api/schema-trials', json({ payloadSchema, payload }, { cookie }));
    for (let i = 0; i < 20; i++) assert.equal((await server.fetch('/health/live')).status, 200);
    endless.close();
    const answer = await trial;
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5']);
  });

  it('gets its answer, whatever it spends its time on', async () => {
    for (const [payloadSchema, payload] of [EXPONENTIAL, REPETITIONS, REFERENCES]) {
      const { address: wallet } = await generateKeyPairSigner();
      const trial = trySchema({ schemas }, wallet, { payloadSchema, payload });
      await refused(trial, 'ERR_INVALID_REQUEST', /needs more than 50\.2 ms of CPU time/);
    }
  });
});

function pipeline(type: string, payload: string): Pick<Pipeline, 'type' | 'payload'> {
  return { type, payload };
}

function project(id: string, ...proofTypes: readonly ProofType[]) {
  return { id, isAdmitted: false, proofTypes: new Map(proofTypes.map((proofType) => [proofType.type, proofType])) };
}

function refused(work: Promise<unknown>, code: ErrorCode, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(isApiError(error, code), String(error));
    assert.match(error.message, message);
    return true;
  });
}
