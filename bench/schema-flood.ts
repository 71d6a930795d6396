import { setTimeout as sleep } from 'node:timers/promises';

// A client in a process of its own: it floods the service with hostile schemas, or asks for its health, and reports at
// the end.
const [mode, url = '', seconds = '0', ...cookies] = process.argv.slice(2);
const until = performance.now() + Number(seconds) * 1_000;
const SENDERS = 16;
const PROBE_INTERVAL_MS = 10;

const PATTERN = { properties: { a: { pattern: '^(a+)+$' } } };
const REFERENCES = {
  $defs: {
    d40: { not: {} },
    ...Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    ),
  },
  $ref: '#/$defs/d0',
};
const trial = (payloadSchema: object, payload: string) => ['schema-trials', JSON.stringify({ payloadSchema, payload })];
const registration = (proofTypes: unknown) => [
  'registrations',
  JSON.stringify({ mint: '1'.repeat(32), burnLimit: '1', airdropLimit: '1', scopes: ['burn'], proofTypes }),
];
const BODIES = [
  trial(PATTERN, JSON.stringify({ a: `${'a'.repeat(60)}b` })),
  trial(REFERENCES, '{}'),
  // As large as the route takes: many schemas, and many values that are no proof types.
  registration(Array.from({ length: 700 }, (_, i) => ({ type: `T${i}`, payloadSchema: { enum: Array(250).fill(1) } }))),
  registration(Array.from({ length: 200_000 }, () => 1)),
  // Too large: refused by its length.
  registration('x'.repeat(1_760_000)),
];

if (mode === 'flood') process.send?.(await flood(), () => process.disconnect());
else process.send?.(await probe(), () => process.disconnect());

async function flood(): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  let sent = 0;
  const sendOn = async () => {
    while (performance.now() < until) {
      const [path = '', body = ''] = BODIES[sent % BODIES.length] ?? [];
      const cookie = cookies[Math.floor(sent / BODIES.length) % cookies.length] ?? '';
      sent += 1;
      const headers = { 'content-type': 'application/json', cookie };
      const status = await fetch(`${url}/console/api/${path}`, { method: 'POST', headers, body }).then(
        async (response) => {
          await response.arrayBuffer();
          return String(response.status);
        },
        // The service hangs up on a body that it refuses.
        () => 'closed',
      );
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sendOn));
  return statuses;
}

async function probe(): Promise<number[]> {
  const times: number[] = [];
  while (performance.now() < until) {
    const start = performance.now();
    await (await fetch(`${url}/health/live`)).arrayBuffer();
    times.push(performance.now() - start);
    await sleep(PROBE_INTERVAL_MS);
  }
  return times;
}
