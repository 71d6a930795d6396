import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS, type ErrorCode, OPERATIONS, type Operation } from '@flywheel/api';
import { errorsByStatus, openapi } from '@flywheel/api/openapi';
import type * as z from 'zod';
import { EXAMPLES, type Example } from '../src/examples.ts';

describe('openapi()', () => {
  const document = JSON.parse(JSON.stringify(openapi()));

  it('has every reference it makes', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    assert.ok(references.length > 10, `only ${references.length} references`);
    const missing = references.map(([, name = '']) => name).filter((name) => !(name in document.components.schemas));
    assert.deepEqual(missing, []);
  });

  it('declares every parameter of a path', () => {
    for (const [path, methods] of Object.entries<Record<string, { parameters: { name: string; in: string }[] }>>(
      document.paths,
    )) {
      const inBraces = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters } of Object.values(methods)) {
        const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        assert.deepEqual(declared, inBraces, path);
      }
    }
  });

  it('puts every operation into a group that it describes', () => {
    const tags = document.tags.map(({ name }: { name: string }) => name);
    for (const methods of Object.values<Record<string, { tags: string[] }>>(document.paths)) {
      for (const operation of Object.values(methods)) assert.ok(tags.includes(operation.tags[0]));
    }
  });

  it('gives every error of an operation an example with its code and sentence', () => {
    const { responses } = document.paths['/v1/flywheel/batch/init'].post;
    assert.deepEqual(responses[400].content['application/json'].examples.ERR_FLYWHEEL_ACTIONS_EMPTY.value, {
      error: 'ERR_FLYWHEEL_ACTIONS_EMPTY',
      message: 'pipelines[2].actions is empty. A pipeline needs at least one action.',
      problems: [
        {
          code: 'ERR_FLYWHEEL_ACTIONS_EMPTY',
          place: 'pipelines[2].actions',
          message: 'is empty. A pipeline needs at least one action.',
        },
      ],
    });
  });

  it('allows fields that responses may get later, and none in requests', () => {
    const closed = Object.entries<{ additionalProperties?: unknown }>(document.components.schemas)
      .filter(([, schema]) => JSON.stringify(schema).includes('"additionalProperties":false'))
      .map(([name]) => name);
    const inRequests = [
      'AirdropAction',
      'BurnAction',
      'ExecuteBatchRequest',
      'InitBatchRequest',
      'MemoAction',
      'Pipeline',
    ];
    assert.deepEqual(closed, inRequests);
    assert.ok(!JSON.stringify(document.paths).includes('"additionalProperties":false'));
  });

  it('declares the headers of each response', () => {
    const headersOf = (path: string, status: number) =>
      Object.keys(document.paths[path].post.responses[status].headers).filter((name) => name !== 'X-Request-Id');
    const [init, execute] = ['/v1/flywheel/batch/init', '/v1/flywheel/batch/execute'];
    const counted = ['RateLimit-Policy', 'RateLimit'];
    assert.deepEqual(headersOf(init, 200), [...counted, 'Idempotency-Replayed']);
    assert.deepEqual(headersOf(execute, 200), [...counted, 'Preference-Applied']);
    assert.deepEqual(headersOf(execute, 202), [...counted, 'Preference-Applied', 'Location', 'Retry-After']);
    assert.deepEqual(headersOf(init, 401), ['WWW-Authenticate']);
    for (const status of [400, 409, 429, 500, 503])
      assert.deepEqual(headersOf(init, status), [...counted, 'Retry-After']);
    assert.deepEqual(headersOf(execute, 409), counted);
    assert.deepEqual(headersOf(init, 415), [...counted, 'Accept-Encoding']);
    const references = JSON.stringify(document).matchAll(/"#\/components\/headers\/([^"]+)"/g);
    for (const [, name = ''] of references) assert.ok(name in document.components.headers, name);
  });

  it('declares the limit of a page as a number', () => {
    const { parameters } = document.paths['/v1/flywheel/batches'].get;
    const limit = parameters.find(({ name }: { name: string }) => name === 'limit');
    assert.deepEqual([limit.schema, limit.example], [{ type: 'integer', minimum: 1, maximum: 100 }, 1]);
  });

  it('declares amounts as doubles, because generated clients would round them to floats of 32 bits', () => {
    for (const action of ['BurnAction', 'AirdropAction']) {
      const { type, format } = document.components.schemas[action].properties.amount;
      assert.deepEqual([type, format], ['number', 'double'], action);
    }
  });

  it('declares a stream of events as text, because generated clients would parse it as one event', () => {
    const { responses } = document.paths['/v1/flywheel/batch/{batchId}/events'].get;
    const { schema, example } = responses[200].content['text/event-stream'];
    assert.equal(schema.type, 'string');
    assert.match(schema.description, /`BatchEvent`/);
    assert.ok('BatchEvent' in document.components.schemas);
    assert.match(example, /^id: 1042\nevent: batch\.finalized\ndata: \{"id":"1042",.*\}\n\n$/);
  });

  it('names the property that tells actions apart, and the schema of each of its values', () => {
    const { oneOf, discriminator } = document.components.schemas.Action;
    const nameOf = (reference: string) => reference.replace('#/components/schemas/', '');
    assert.equal(discriminator.propertyName, 'action');
    for (const [value, reference] of Object.entries<string>(discriminator.mapping)) {
      assert.equal(document.components.schemas[nameOf(reference)].properties.action.const, value);
    }
    assert.deepEqual(
      Object.values(discriminator.mapping),
      oneOf.map(({ $ref }: { $ref: string }) => $ref),
    );
  });

  it('says which operations share a rate limit', () => {
    const { description } = document.info;
    assert.match(description, /`executeBatch` and `cancelBatch` share `execute`/);
    assert.match(description, /`listBatches`, `getBatch` and `streamBatchEvents` share `get`/);
    assert.doesNotMatch(description, /share `(init|preview|current)`/);
  });

  it('gives no schema a name that oapi-codegen gives to the response of an operation', () => {
    const names = Object.keys(document.components.schemas).map((name) => name.toLowerCase());
    const taken = Object.keys(OPERATIONS).map((id) => `${id}Response`.toLowerCase());
    assert.deepEqual(
      names.filter((name) => taken.includes(name)),
      [],
    );
  });

  it('gives every operation an id of its own', () => {
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    assert.deepEqual(ids.toSorted(), Object.keys(OPERATIONS).toSorted());
  });
});

describe('EXAMPLES', () => {
  for (const [id, { request, reply }] of Object.entries<Example>(EXAMPLES)) {
    it(`gives ${id} a request and a response that its schemas accept`, () => {
      const operation: Operation = OPERATIONS[id as keyof typeof OPERATIONS];
      for (const part of ['headers', 'params', 'query', 'body'] as const) {
        const schema: z.ZodType | undefined = operation[part];
        const parsed = schema?.safeParse(request[part] ?? (part === 'body' ? undefined : {}));
        assert.equal(parsed?.success ?? request[part] === undefined, true, `${part} ${parsed?.error?.message}`);
      }
      const answered = operation.responses[reply.status]?.schema.safeParse(reply.body);
      assert.equal(answered?.success, true, answered?.error?.message);
    });
  }
});

describe('the catalogue', () => {
  /** The interface's table of errors: code, status, operation. */
  const PUBLISHED: readonly (readonly [ErrorCode, number, keyof typeof OPERATIONS])[] = [
    ['ERR_TOKEN_NOT_FOUND', 404, 'initBatch'],
    ['ERR_KEY_NOT_FOUND', 404, 'initBatch'],
    ['ERR_FLYWHEEL_NOT_FOUND', 404, 'initBatch'],
    ['ERR_BATCH_INIT_FAILED', 500, 'initBatch'],
    ['ERR_FLYWHEEL_ACTIONS_EMPTY', 400, 'initBatch'],
    ['ERR_FLYWHEEL_INVALID_ACTION', 400, 'initBatch'],
    ['ERR_FLYWHEEL_NO_INSTRUCTIONS', 400, 'initBatch'],
    ['ERR_FLYWHEEL_PIPELINE_TOO_BIG', 400, 'initBatch'],
    ['ERR_BATCH_NOT_FOUND', 404, 'getBatch'],
    ['ERR_BATCH_CURRENT_FAILED', 500, 'getCurrentBatch'],
  ];
  for (const [code, status, operationId] of PUBLISHED) {
    it(`answers ${code} with ${status} from ${operationId}`, () => {
      assert.ok(errorsByStatus(OPERATIONS[operationId]).get(status)?.includes(code));
    });
  }

  it('ends the reason of a pause as a sentence, however the company wrote it', () => {
    const messageFor = (reason: string | null) => ERRORS.ERR_PAUSED.message({ isForAll: true, reason });
    const rest = ' Nothing is lost. Try again after the company has resumed it.';
    assert.equal(messageFor(null), `The company has paused all projects.${rest}`);
    assert.equal(messageFor('Maintenance'), `The company has paused all projects: Maintenance.${rest}`);
    for (const reason of ['Maintenance.', 'Who moved the mint?', 'Wait! ', 'Wait…']) {
      assert.equal(messageFor(reason), `The company has paused all projects: ${reason.trimEnd()}${rest}`);
    }
  });

  it('summarises every code in a sentence', () => {
    for (const [code, { summary }] of Object.entries(ERRORS)) assert.match(summary, /^[A-Z].*[.]$/, code);
  });
});
