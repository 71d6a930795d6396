import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { validatePayload } from '../src/features/proof-types/validate-payload.ts';

const SCHEMA = {
  type: 'object',
  required: ['adId'],
  properties: { adId: { type: 'string', minLength: 1 }, seconds: { type: 'integer', minimum: 15 } },
  additionalProperties: false,
};

describe('validatePayload', () => {
  it('names the first issue of a payload and its place', () => {
    const cases: readonly (readonly [payload: unknown, issue: string | null])[] = [
      [{ adId: 'a', seconds: 20 }, null],
      [{}, 'The payload does not have required property "adId"'],
      [{ adId: 'a', seconds: 3 }, 'seconds: 3 is less than 15'],
      [{ adId: 'a', x: 1 }, 'x is not allowed'],
      [[], 'The payload type "array" is invalid. Expected "object"'],
    ];
    for (const [payload, issue] of cases) assert.deepEqual(validatePayload(SCHEMA, payload), { issue });
  });

  it('agrees with ajv, with the service’s options, on which payloads satisfy a schema', () => {
    for (const { schema, payloads } of AGREEMENTS) {
      const validate = new Ajv2020({ strict: false, validateFormats: false, logger: false }).compile(schema);
      const verdicts = new Set<boolean>();
      for (const payload of payloads) {
        const check = validatePayload(schema, payload);
        assert.deepEqual(
          'issue' in check && check.issue === null,
          validate(payload),
          `${JSON.stringify(schema)} with ${JSON.stringify(payload)}: ${JSON.stringify(check)}`,
        );
        verdicts.add(validate(payload));
      }
      assert.equal(verdicts.size, 2, `${JSON.stringify(schema)} is not tried both ways`);
    }
  });

  it('reads format as an annotation, like the service', () => {
    assert.deepEqual(validatePayload({ type: 'string', format: 'email' }, 'not an address'), { issue: null });
  });

  it('says when it cannot check a schema', () => {
    for (const schema of [{ $ref: 'https://example.com/other.json' }, { pattern: '(' }]) {
      assert.ok('unsupported' in validatePayload(schema, 'text'), JSON.stringify(schema));
    }
  });

  it('leaves the schema as it was', () => {
    const schema = structuredClone(SCHEMA);
    validatePayload(schema, {});
    assert.deepEqual(schema, SCHEMA);
  });
});

const AGREEMENTS: readonly { readonly schema: object; readonly payloads: readonly unknown[] }[] = [
  { schema: SCHEMA, payloads: [{ adId: 'a' }, { adId: '' }, { adId: 'a', seconds: 15.5 }, { adId: 'a', seconds: 15 }] },
  { schema: { type: ['string', 'null'] }, payloads: [null, 'a', 1, {}] },
  { schema: { enum: [1, { a: [1, 2] }] }, payloads: [1, { a: [1, 2] }, { a: [2, 1] }, 2] },
  { schema: { const: { a: 1, b: 2 } }, payloads: [{ b: 2, a: 1 }, { a: 1 }] },
  { schema: { minLength: 2, maxLength: 3 }, payloads: ['😀', '😀😀', 'abcd', 7] },
  { schema: { exclusiveMinimum: 1, exclusiveMaximum: 2 }, payloads: [1, 1.5, 2] },
  { schema: { multipleOf: 0.5 }, payloads: [1.5, 1.25] },
  { schema: { pattern: '^\\p{L}+$' }, payloads: ['Ärger', 'a1'] },
  { schema: { minItems: 1, maxItems: 2, uniqueItems: true }, payloads: [[], [1], [1, 1], [1, 2, 3]] },
  { schema: { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, payloads: [['a', 1], ['a', 'b'], [1]] },
  {
    schema: { contains: { const: 1 }, minContains: 2 },
    payloads: [
      [1, 1],
      [1, 2],
    ],
  },
  { schema: { patternProperties: { '^x-': { type: 'number' } } }, payloads: [{ 'x-a': 1 }, { 'x-a': 'b' }] },
  { schema: { propertyNames: { maxLength: 2 } }, payloads: [{ ab: 1 }, { abc: 1 }] },
  { schema: { dependentRequired: { a: ['b'] } }, payloads: [{ a: 1, b: 1 }, { a: 1 }, {}] },
  { schema: { oneOf: [{ type: 'string' }, { maxLength: 2 }] }, payloads: ['abc', 'ab', 1] },
  { schema: { anyOf: [{ type: 'string' }, { type: 'number' }] }, payloads: ['a', 1, null] },
  { schema: { allOf: [{ required: ['a'] }, { required: ['b'] }] }, payloads: [{ a: 1, b: 1 }, { a: 1 }] },
  { schema: { not: { type: 'object' } }, payloads: [[], {}] },
  {
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    schema: { if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['c'] } },
    payloads: [{ a: 1, b: 1 }, { a: 1 }, { c: 1 }, {}],
  },
  {
    schema: { $defs: { n: { type: 'number' } }, properties: { a: { $ref: '#/$defs/n' } } },
    payloads: [{ a: 1 }, { a: 'b' }],
  },
  {
    schema: { properties: { child: { $ref: '#' } }, required: ['id'] },
    payloads: [
      { id: 1, child: { id: 2 } },
      { id: 1, child: {} },
    ],
  },
  {
    schema: { properties: { a: true }, unevaluatedProperties: false },
    payloads: [{ a: 1 }, { a: 1, b: 2 }],
  },
];
