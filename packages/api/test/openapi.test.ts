import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS, type ErrorCode, errorsByStatus, OPERATIONS, openapi } from '@flywheel/api';

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

  it('gives every operation an id of its own', () => {
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    assert.deepEqual(ids.toSorted(), Object.keys(OPERATIONS).toSorted());
  });
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

  it('summarises every code in a sentence', () => {
    for (const [code, { summary }] of Object.entries(ERRORS)) assert.match(summary, /^[A-Z].*[.]$/, code);
  });
});
