import { DOCUMENTED, DOCUMENTED_ERRORS } from '../../shapes/documented.ts';
import { type Call, call } from './call.ts';

/** Every method that the cluster offers, apart from those of its own and of the block engine. */
export const METHODS = [
  ...new Set([...Object.keys(DOCUMENTED), ...Object.keys(DOCUMENTED_ERRORS)].map((name) => name.replace(/ .*/, ''))),
].toSorted();

/** Parameters that suit few methods or none. */
const PARAMETERS: Readonly<Record<string, unknown>> = {
  'no parameters': [],
  null: [null],
  'a boolean': [true],
  'a text': ['x'],
  'a list': [['x']],
  'an object': { commitment: 'confirmed' },
  'six parameters': [1, 2, 3, 4, 5, 6],
};

/**
 * Methods that have an answer without parameters, but not here: it lists all slots of an epoch, which is asked for once, or
 * depends on the age of the cluster.
 */
const WITHOUT_EMPTY = ['getLeaderSchedule', 'getRecentPerformanceSamples'];

/** Calls each method with parameters that it does not expect. */
export function malformedCalls(): Call[] {
  return METHODS.flatMap((method) =>
    Object.entries(PARAMETERS)
      .filter(([, params]) => !WITHOUT_EMPTY.includes(method) || JSON.stringify(params).length > 6)
      .map(([about, params]) => ({
        ...call(method, `with ${about}`, undefined, 'kinds'),
        params: params as readonly unknown[], // one of them is an object
      })),
  );
}

export interface Request {
  readonly name: string;
  readonly content: string;
  readonly path?: string;
  readonly init?: RequestInit;
}

const HEALTH = '{"jsonrpc":"2.0","id":1,"method":"getHealth"}';
const BAD = '{"jsonrpc":"2.0","id":2,"method":"getNothing"}';
const NOTIFICATION = '{"jsonrpc":"2.0","method":"getHealth"}';
const CONTENTS: Readonly<Record<string, string>> = {
  'no content': '',
  'half a call': '{"jsonrpc":"2.0",',
  'a text': '"getHealth"',
  'a number': '1',
  null: 'null',
  'an empty object': '{}',
  'an empty batch': '[]',
  'a batch of numbers': '[1,2]',
  'a batch': `[${HEALTH},${BAD}]`,
  'a batch with a notification': `[${HEALTH},${NOTIFICATION}]`,
  'a batch of notifications': `[${NOTIFICATION}]`,
  'a batch of one': `[${HEALTH}]`,
  'a call': HEALTH,
  'an unknown method': BAD,
  'a notification': NOTIFICATION,
  'a notification of an unknown method': '{"jsonrpc":"2.0","method":"getNothing"}',
  'version 1.0': HEALTH.replace('2.0', '1.0'),
  'no version': '{"id":1,"method":"getHealth"}',
  'no method': '{"jsonrpc":"2.0","id":1}',
  'a number as method': '{"jsonrpc":"2.0","id":1,"method":1}',
  'an unknown member': '{"jsonrpc":"2.0","id":1,"method":"getHealth","colour":"red"}',
  'a text as number': HEALTH.replace('1,', '"one",'),
  'null as number': HEALTH.replace('1,', 'null,'),
  'a fraction as number': HEALTH.replace('1,', '1.5,'),
  'a negative number': HEALTH.replace('1,', '-1,'),
  'a list as number': HEALTH.replace('1,', '[1],'),
  'null as parameters': '{"jsonrpc":"2.0","id":1,"method":"getHealth","params":null}',
  'a text as parameters': '{"jsonrpc":"2.0","id":1,"method":"getHealth","params":"x"}',
  'a number twice': '{"jsonrpc":"2.0","id":1,"id":2,"method":"getHealth"}',
  'a body with spaces': `  ${HEALTH}\n`,
  'two calls': `${HEALTH}${HEALTH}`,
  '51,201 bytes': `{"jsonrpc":"2.0","id":1,"method":"getHealth","params":["${'x'.repeat(51_201 - 59)}"]}`,
};

/** Requests that are no single well-formed call. */
export const REQUESTS: readonly Request[] = [
  ...Object.entries(CONTENTS).map(([about, content]) => ({ name: `POST ${about}`, content })),
  { name: 'POST as text', content: HEALTH, init: { headers: { 'content-type': 'text/plain' } } },
  {
    name: 'POST with a charset',
    content: HEALTH,
    init: { headers: { 'content-type': 'application/json;charset=utf-8' } },
  },
  { name: 'GET /', content: '', init: { method: 'GET' } },
  { name: 'GET /health', content: '', path: '/health', init: { method: 'GET' } },
  { name: 'PUT /', content: HEALTH, init: { method: 'PUT', body: HEALTH } },
];
