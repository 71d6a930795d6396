import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ErrorCode,
  InitBatchRequest,
  isApiError,
  MAX_PAYLOAD_BYTES,
  type Pipeline,
  type ProofType,
} from '@flywheel/api';
import { openapi } from '@flywheel/api/openapi';
import fc from 'fast-check';
import { checkPipelines, type PipelineRules } from '../../src/compile/request/check-pipelines.ts';
import { parseInitRequest } from '../../src/compile/request/parse-request.ts';
import { parseJson } from '../../src/model/json-number.ts';

const WALLET = '9Qqhn8ffraDwVnXWKAV7Y1um2p1uhdhq1N2F9cVN52UM';
const OFF_CURVE = 'BSTq9w3kZwNwpBXJEvTZz2G9ZTNyKBvoSeXMvwb4cNZr';
const BURN = { action: 'BURN', amount: 1 };

describe('parseInitRequest', () => {
  it('names the position of a value of the wrong shape and the expected shape', () => {
    invalidRequest(undefined, 'body is missing.');
    invalidRequest([], 'body must be an object, not an array.');
    invalidRequest({}, 'pipelines is missing.');
    invalidRequest({ pipelines: [1] }, 'pipelines[0] must be an object, not a number.');
    invalidRequest({ pipelines: [pipeline()], memo: 1 }, 'body has the unknown field "memo".');
    invalidRequest({ pipelines: [pipeline(), { ...pipeline(), id: 1 }] }, 'pipelines[1] has the unknown field "id".');
    invalidRequest(
      { pipelines: [{ ...pipeline(), type: 'watch ad' }] },
      'pipelines[0].type must be 1 to 64 of A-Z a-z 0-9 _ -.',
    );
    invalidRequest(
      { pipelines: [{ ...pipeline(), actions: {} }] },
      'pipelines[0].actions must be an array, not an object.',
    );
    invalidRequest(
      { pipelines: Array.from({ length: 1_001 }, () => pipeline()) },
      'pipelines must have at most 1000 items, not 1001.',
    );
  });

  it('rejects a payload that is too long or is not the text of one JSON object', () => {
    const refuses = (payload: unknown, message: string | RegExp) =>
      invalidRequest({ pipelines: [{ ...pipeline(), payload }] }, message);
    refuses({}, 'pipelines[0].payload must be a string, not an object.');
    refuses('[]', 'pipelines[0].payload must be the text of one JSON object, not of an array.');
    refuses('null', 'pipelines[0].payload must be the text of one JSON object, not of null.');
    refuses('{}{}', /^pipelines\[0\]\.payload is not the text of a JSON object \(Unexpected .*\)\.$/);
    refuses('', /^pipelines\[0\]\.payload is not the text of a JSON object/);
    refuses('{"a":"\ud800"}', /half of a surrogate pair/);
    const full = `{"a":"${'é'.repeat((MAX_PAYLOAD_BYTES - 8) / 2)}"}`;
    assert.equal(Buffer.byteLength(full), MAX_PAYLOAD_BYTES);
    assert.ok(parseInitRequest({ pipelines: [pipeline({ payload: full })] }));
    refuses(`${full} `, 'pipelines[0].payload must have at most 65536 bytes, not 65537.');
  });

  it('reports emptiness only if the shape of the whole request is right', () => {
    refused(() => parseInitRequest({ pipelines: [] }), 'ERR_FLYWHEEL_NO_INSTRUCTIONS', /no pipelines/);
    const empty = { ...pipeline(), actions: [] };
    refused(
      () => parseInitRequest({ pipelines: [pipeline(), empty] }),
      'ERR_FLYWHEEL_ACTIONS_EMPTY',
      /pipelines\[1\]\.actions is empty/,
    );
    invalidRequest({ pipelines: [empty, { ...pipeline(), type: '' }] }, /pipelines\[1\]\.type/);
  });

  it('reports an issue inside an action after shape and emptiness of the whole request', () => {
    const faulty = { ...pipeline(), actions: [BURN, { action: 'BURN' }] };
    invalidAction(faulty.actions, 'pipelines[0].actions[1].amount is missing.');
    refused(
      () => parseInitRequest({ pipelines: [faulty, { ...pipeline(), actions: [] }] }),
      'ERR_FLYWHEEL_ACTIONS_EMPTY',
      /pipelines\[1\]/,
    );
    invalidRequest({ pipelines: [faulty, { ...pipeline(), payload: 'x' }] }, /pipelines\[1\]\.payload/);
    invalidAction([null], 'pipelines[0].actions[0] must be an object, not null.');
    invalidAction([{ ...BURN, memo: 'x' }], 'pipelines[0].actions[0] has the unknown field "memo".');
    invalidAction([{ ...BURN, amount: '1' }], 'pipelines[0].actions[0].amount must be a number, not a string.');
    invalidAction([{ ...BURN, amount: 0 }], 'pipelines[0].actions[0].amount must be greater than 0.');
    invalidAction([{ ...BURN, amount: -1.5 }], 'pipelines[0].actions[0].amount must be greater than 0.');
    invalidAction([{ action: 'MEMO', message: '' }], 'pipelines[0].actions[0].message must not be empty.');
    invalidAction([{ action: 'MEMO', message: '\udc00' }], /message holds half of a surrogate pair/);
    invalidAction(
      [{ action: 'burn', amount: 1 }],
      'pipelines[0].actions[0].action is "burn"; it must be one of BURN, AIRDROP and MEMO.',
    );
    invalidAction(
      [{ amount: 1 }],
      'pipelines[0].actions[0].action is missing; it must be one of BURN, AIRDROP and MEMO.',
    );
  });

  it('reports that BUYBACK, LOCK and UNLOCK are declared but not implemented', () => {
    const actions = [
      { action: 'BUYBACK', amount: 1 },
      { action: 'LOCK', amount: 1, vesting: {} },
      { action: 'UNLOCK' },
    ];
    for (const action of actions) {
      invalidAction(
        [action],
        `pipelines[0].actions[0].action ${action.action} is declared but not implemented; BURN, AIRDROP and MEMO are.`,
      );
    }
    const { responses } = JSON.parse(JSON.stringify(openapi())).paths['/v1/flywheel/batch/init'].post;
    const example = responses[400].content['application/json'].examples.ERR_FLYWHEEL_INVALID_ACTION.value;
    invalidAction([BURN, { action: 'LOCK', amount: 1, vesting: {} }], example.message);
  });

  it('rejects a number that a double cannot hold exactly, and one that overflows', () => {
    const text = (amount: string) =>
      `{"pipelines":[{"type":"T","payload":"{}","actions":[{"action":"BURN","amount":${amount}}]}]}`;
    const parse = (amount: string) => parseInitRequest(parseJson(text(amount)));
    assert.ok(parse('123456789.012345'));
    refused(
      () => parse('1234567890.123456789'),
      'ERR_FLYWHEEL_INVALID_ACTION',
      /amount has 19 significant digits; at most 15 are read exactly/,
    );
    refused(() => parse('1e400'), 'ERR_FLYWHEEL_INVALID_ACTION', /amount must be a number, not Infinity/);
    refused(() => parse('1e-400'), 'ERR_FLYWHEEL_INVALID_ACTION', /amount must be greater than 0/);
  });

  it('accepts exactly what the published schema accepts, except for the text of payloads', () => {
    const loose = fc.oneof(fc.jsonValue(), fc.constantFrom('BURN', 'MEMO', '{}', 'T', 1, 0.5, WALLET));
    const action = fc.oneof(
      fc.constant(BURN),
      fc.record(
        { action: fc.constantFrom('BURN', 'AIRDROP', 'MEMO', 'LOCK'), amount: loose, toAddress: loose, message: loose },
        { requiredKeys: ['action'] },
      ),
      loose,
    );
    const body = fc.record(
      {
        pipelines: fc.array(
          fc.oneof(
            fc.record({
              type: fc.constantFrom('T', 'WATCH_AD'),
              payload: fc.constant('{}'),
              actions: fc.array(action, { maxLength: 3 }),
            }),
            fc.record(
              {
                type: loose,
                payload: fc.oneof(loose, fc.json()),
                actions: fc.array(action, { maxLength: 2 }),
                extra: loose,
              },
              { requiredKeys: [] },
            ),
          ),
          { maxLength: 3 },
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (generated) => {
        // Values as JSON.parse returns them: without undefined and custom prototypes.
        const value: unknown = JSON.parse(JSON.stringify(generated));
        const isValid = InitBatchRequest.safeParse(value).success;
        try {
          assert.deepEqual(parseInitRequest(value), value);
          assert.ok(isValid);
        } catch (error) {
          assert.ok(isApiError(error), String(error));
          assert.ok(!isValid || /payload/.test(error.message), error.message);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('checkPipelines', () => {
  it('rejects an amount that the mint cannot express', async () => {
    await checkRefused(
      [pipeline({ actions: [{ action: 'BURN', amount: 0.0000001 }] })],
      'ERR_FLYWHEEL_INVALID_ACTION',
      /^pipelines\[0\]\.actions\[0\]\.amount 1e-7 has more than the 6 fraction digits/,
    );
    await checkRefused(
      [pipeline({ actions: [{ action: 'BURN', amount: 1e15 }] })],
      'ERR_FLYWHEEL_INVALID_ACTION',
      /amount 1000000000000000 exceeds 18446744073709.551615/,
    );
  });

  it('rejects a recipient that is not a wallet’s address', async () => {
    const to = (toAddress: string) => [pipeline({ actions: [{ action: 'AIRDROP', toAddress, amount: 1 }] })];
    await checkPipelines(to(WALLET), rules());
    for (const text of ['', 'abc', `${WALLET}1`, WALLET.replace(/^./, '0'), ` ${WALLET}`]) {
      await checkRefused(to(text), 'ERR_FLYWHEEL_INVALID_ACTION', /toAddress is not an address: base58 of 32 bytes/);
    }
    await checkRefused(to(OFF_CURVE), 'ERR_FLYWHEEL_INVALID_ACTION', /toAddress belongs to a program, not to a wallet/);
    const clock = 'SysvarC1ock11111111111111111111111111111111';
    await checkRefused(
      to(clock),
      'ERR_FLYWHEEL_INVALID_ACTION',
      /toAddress SysvarC\w+ is the sysvar Clock, not a wallet/,
    );
    const system = '11111111111111111111111111111111';
    await checkRefused(to(system), 'ERR_FLYWHEEL_INVALID_ACTION', /toAddress 1+ is the System program, not a wallet/);
  });

  it('lets others be answered while it checks thousands of recipients', async () => {
    const actions = Array.from(
      { length: 20_000 },
      () => ({ action: 'AIRDROP', toAddress: WALLET, amount: 1 }) as const,
    );
    const checked = checkPipelines([pipeline({ actions })], rules());
    const others = new Promise<'others'>((resolve) => setImmediate(() => resolve('others')));
    assert.equal(await Promise.race([checked, others]), 'others');
    await checked;
  });

  it('requires the scope of each action, and none for a memo', async () => {
    const burn = pipeline();
    const memo = pipeline({ actions: [{ action: 'MEMO', message: 'm' }] });
    await checkPipelines([memo], rules({ scopes: new Set() }));
    await checkRefused(
      [memo, burn],
      'ERR_KEY_SCOPES_UNAUTHORIZED',
      /^pipelines\[1\]\.actions\[0\]: BURN needs the scope burn/,
      rules({ scopes: new Set(['airdrop']) }),
    );
  });

  it('requires a registered type if the project has registered any', async () => {
    const proofTypes = typesOf({ type: 'WATCH_AD' }, { type: 'REFERRAL' });
    await checkPipelines([pipeline({ type: 'REFERRAL' })], rules({ proofTypes }));
    await checkRefused(
      [pipeline({ type: 'OTHER' })],
      'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
      /^pipelines\[0\]\.type OTHER is not registered; this project has WATCH_AD, REFERRAL\.$/,
      rules({ proofTypes }),
    );
    // Every object inherits a property of this name.
    await checkRefused(
      [pipeline({ type: 'constructor' })],
      'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
      /not registered/,
      rules({ proofTypes }),
    );
  });

  it('refuses the types of the service’s own batches, also when they are registered', async () => {
    for (const type of ['WITHDRAW', 'ROTATE']) {
      const reserved = new RegExp(String.raw`^pipelines\[1\]\.type ${type} is reserved for the service’s own batches`);
      for (const proofTypes of [typesOf(), typesOf({ type: 'T' }, { type })]) {
        const pipelines = [pipeline(), pipeline({ type })];
        await checkRefused(pipelines, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', reserved, rules({ proofTypes }));
      }
    }
  });

  it('reports actions before scopes, and scopes before types', async () => {
    const bad = pipeline({ type: 'OTHER', actions: [{ action: 'BURN', amount: 1e15 }] });
    const all = rules({ scopes: new Set(), proofTypes: typesOf({ type: 'WATCH_AD' }) });
    await checkRefused([pipeline({ type: 'OTHER' }), bad], 'ERR_FLYWHEEL_INVALID_ACTION', /pipelines\[1\]/, all);
    await checkRefused([pipeline({ type: 'OTHER' })], 'ERR_KEY_SCOPES_UNAUTHORIZED', /BURN/, all);
  });
});

function pipeline(fields: Partial<Pipeline> = {}): Pipeline {
  return { type: 'T', payload: '{}', actions: [{ action: 'BURN', amount: 1 }], ...fields };
}

function rules(fields: Partial<PipelineRules> = {}): PipelineRules {
  return { scopes: new Set(['burn', 'airdrop']), token: { decimals: 6 }, proofTypes: new Map(), ...fields };
}

function typesOf(...proofTypes: ProofType[]): ReadonlyMap<string, ProofType> {
  return new Map(proofTypes.map((proofType) => [proofType.type, proofType]));
}

function invalidRequest(body: unknown, message: string | RegExp): void {
  refused(() => parseInitRequest(body), 'ERR_INVALID_REQUEST', message);
}

function invalidAction(actions: readonly unknown[], message: string | RegExp): void {
  refused(() => parseInitRequest({ pipelines: [{ ...pipeline(), actions }] }), 'ERR_FLYWHEEL_INVALID_ACTION', message);
}

function checkRefused(pipelines: Pipeline[], code: ErrorCode, message: RegExp, as = rules()): Promise<void> {
  return assert.rejects(checkPipelines(pipelines, as), isRefusal(code, message));
}

function refused(run: () => unknown, code: ErrorCode, message: string | RegExp): void {
  assert.throws(run, isRefusal(code, message));
}

function isRefusal(code: ErrorCode, message: string | RegExp) {
  return (error: unknown) => {
    assert.ok(isApiError(error, code), String(error));
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  };
}
