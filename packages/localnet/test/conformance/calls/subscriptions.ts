import { getTransferSolInstruction } from '@solana-program/system';
import { getTransferCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { stringifyJson } from '../../../src/json.ts';
import { type Connection, connect, waitFor } from '../client.ts';
import { land, memo, readBlockhash, signWire } from '../transactions.ts';
import { TOKENS, type World } from '../world.ts';
import { COMMITMENTS } from './call.ts';

/** Subscriptions by name: a method, its parameters, and the number of notifications that follow. */
type Subscriptions = Readonly<Record<string, readonly [method: string, params: unknown, expected: number]>>;

/** Half a minute of slots. */
const MAX_PASSES = 150;

/** Answers by name. */
export type Named = Record<string, unknown>;

/** Subscribes to all that a transaction changes, sends it, and returns the notifications of each subscription. */
export async function askNotifications(world: World): Promise<Named> {
  const { target, roles, keys, addresses } = world;
  const { sender, recipient, mint } = keys;
  const connection = await connect(target);
  const blockhash = await readBlockhash(target, roles);
  const transfer = getTransferCheckedInstruction({
    source: addresses.token,
    mint: mint.address,
    destination: addresses.recipientToken,
    authority: sender,
    amount: TOKENS,
    decimals: 6,
  });
  const give = getTransferSolInstruction({ source: sender, destination: recipient.address, amount: 7n });
  const wire = await signWire(sender, [give, transfer, memo('heard')], { blockhash });
  roles.set(wire.signature, 'signature of heard');
  const failing = await signWire(sender, [memo('heard'), { ...give, data: new Uint8Array([99]) }], { blockhash });
  roles.set(failing.signature, 'signature of heard failure');
  const answers: Named = {};
  const open: [name: string, subscription: unknown, expected: number][] = [];
  for (const [name, [method, params, expected]] of Object.entries(describe(world, wire.signature, failing.signature))) {
    open.push([name, await subscribe(connection, method, params), expected]);
  }
  await land(target, wire, 'processed');
  await land(target, failing, 'finalized');
  for (const [name, subscription, expected] of open) {
    // After the finalized one nothing more comes than a root.
    for (let passes = 0; passes < MAX_PASSES; passes += 1) {
      if (connection.notifications(subscription).length >= expected) break;
      await target.pass();
    }
    const received = connection.notifications(subscription).slice(0, expected);
    // The result is a slot alone, or one of several kinds in any order.
    answers[`notifications of ${name}`] = ['root', 'slots updates'].includes(name) ? listKinds(received) : received;
  }
  // A signature has been announced for the last time: its subscription has ended.
  const [signature] = open.find(([name]) => name === 'signature, processed')?.slice(1) ?? [];
  answers['unsubscribe: signature that was announced'] = await ask(connection, 'signatureUnsubscribe', [signature]);
  const [, slots] = open.find(([name]) => name === 'slot') ?? [];
  answers['unsubscribe: slot'] = await ask(connection, 'slotUnsubscribe', [slots]);
  answers['unsubscribe: slot again'] = await ask(connection, 'slotUnsubscribe', [slots]);
  connection.close();
  return answers;
}

function describe({ keys, addresses }: World, signature: string, failed: string): Subscriptions {
  const { sender, recipient, mint } = keys;
  const account = recipient.address;
  const filters = [{ memcmp: { offset: 0, bytes: mint.address } }, { memcmp: { offset: 32, bytes: account } }];
  const each = (name: string, expected: number, of: (commitment: string) => readonly [string, unknown]) =>
    COMMITMENTS.map((commitment) => [`${name}, ${commitment}`, [...of(commitment), expected]]);
  return Object.fromEntries([
    ...each('signature', 1, (commitment) => ['signatureSubscribe', [signature, { commitment }]]),
    ...each('failed signature', 1, (commitment) => ['signatureSubscribe', [failed, { commitment }]]),
    ['signature, default commitment', ['signatureSubscribe', [signature], 1]],
    [
      'signature when received',
      ['signatureSubscribe', [signature, { commitment: 'confirmed', enableReceivedNotification: true }], 2],
    ],
    ...each('account', 1, (commitment) => ['accountSubscribe', [account, { commitment, encoding: 'base64' }]]),
    ['account without encoding', ['accountSubscribe', [account, { commitment: 'confirmed' }], 1]],
    [
      'parsed account',
      ['accountSubscribe', [addresses.recipientToken, { commitment: 'confirmed', encoding: 'jsonParsed' }], 1],
    ],
    [
      'slice of an account',
      [
        'accountSubscribe',
        [
          addresses.recipientToken,
          { commitment: 'confirmed', encoding: 'base64', dataSlice: { offset: 64, length: 8 } },
        ],
        1,
      ],
    ],
    ...each('program', 1, (commitment) => [
      'programSubscribe',
      [TOKEN_PROGRAM_ADDRESS, { commitment, encoding: 'base64+zstd', filters }],
    ]),
    [
      'slice of a program account',
      [
        'programSubscribe',
        [
          TOKEN_PROGRAM_ADDRESS,
          { commitment: 'confirmed', encoding: 'base64', filters, dataSlice: { offset: 64, length: 8 } },
        ],
        1,
      ],
    ],
    ...each('logs', 2, (commitment) => ['logsSubscribe', [{ mentions: [sender.address] }, { commitment }]]),
    ['all logs', ['logsSubscribe', ['all', { commitment: 'confirmed' }], 2]],
    ['slot', ['slotSubscribe', [], 1]],
    ['root', ['rootSubscribe', [], 1]],
    ['slots updates', ['slotsUpdatesSubscribe', [], 30]],
  ]);
}

/** Asks a connection for what is not possible. */
export async function askMalformed({ target, keys, landed }: World): Promise<Named> {
  const connection = await connect(target);
  const account = keys.recipient.address;
  const calls: Readonly<Record<string, readonly [method: string, params: unknown]>> = {
    'account, malformed': ['accountSubscribe', ['abc']],
    'account, no parameters': ['accountSubscribe', []],
    'account, number': ['accountSubscribe', [1]],
    'account, unknown commitment': ['accountSubscribe', [account, { commitment: 'red' }]],
    'account, unknown encoding': ['accountSubscribe', [account, { encoding: 'hex' }]],
    'program, malformed': ['programSubscribe', ['abc']],
    'program, five filters': [
      'programSubscribe',
      [TOKEN_PROGRAM_ADDRESS, { filters: Array.from({ length: 5 }, () => ({ dataSize: 1 })) }],
    ],
    'program, unknown filter': ['programSubscribe', [TOKEN_PROGRAM_ADDRESS, { filters: [{ colour: 'red' }] }]],
    'logs, two addresses': ['logsSubscribe', [{ mentions: [account, account] }]],
    'logs, no address': ['logsSubscribe', [{ mentions: [] }]],
    'logs, malformed address': ['logsSubscribe', [{ mentions: ['abc'] }]],
    'logs, unknown filter': ['logsSubscribe', ['red']],
    'logs, no parameters': ['logsSubscribe', []],
    'signature, malformed': ['signatureSubscribe', ['abc']],
    'signature, no parameters': ['signatureSubscribe', []],
    'slot with parameters': ['slotSubscribe', [1]],
    'block, not offered': ['blockSubscribe', ['all']],
    'vote, not offered': ['voteSubscribe', []],
    'unknown method': ['colourSubscribe', []],
    'method of HTTP': ['getSlot', []],
    'unsubscribe nothing': ['accountUnsubscribe', [123_456_789]],
    'unsubscribe a text': ['accountUnsubscribe', ['x']],
    'unsubscribe without parameters': ['accountUnsubscribe', []],
    'unsubscribe with null': ['accountUnsubscribe', [null]],
  };
  const answers: Named = {};
  for (const [name, [method, params]] of Object.entries(calls)) {
    const answer = await ask(connection, method, params);
    answers[`subscribe: ${name}`] = withoutNumber(answer);
  }
  const subscription = await subscribe(connection, 'accountSubscribe', [account]);
  answers['unsubscribe: account as a root'] = await ask(connection, 'rootUnsubscribe', [subscription]);
  answers['subscribe: signature of the past'] = await announced(connection, landed.token.signature, { target });
  const texts = { 'no JSON': '{', number: '1', 'batch of numbers': '[1]' };
  for (const [name, text] of Object.entries(texts)) answers[`socket: ${name}`] = await connection.ask(text);
  const batch = '[{"jsonrpc":"2.0","id":1,"method":"getNothing"},{"jsonrpc":"2.0","id":2,"method":"slotUnsubscribe"}]';
  answers['socket: batch'] = await connection.ask(batch);
  connection.close();
  return answers;
}

async function announced(connection: Connection, signature: string, { target }: Pick<World, 'target'>) {
  const subscription = await subscribe(connection, 'signatureSubscribe', [signature, { commitment: 'confirmed' }]);
  return waitFor(target, 'a notification of an old signature', async () => {
    const list = connection.notifications(subscription);
    return list.length > 0 ? list : null;
  });
}

async function subscribe(connection: Connection, method: string, params: unknown): Promise<unknown> {
  const answer = await ask(connection, method, params);
  if (typeof answer === 'object' && answer !== null && 'result' in answer) return answer.result;
  throw new Error(`${method} failed: ${stringifyJson(answer)}`);
}

function ask(connection: Connection, method: string, params: unknown): Promise<unknown> {
  return connection.ask(stringifyJson({ jsonrpc: '2.0', id: 1, method, params }));
}

/** Lists the kinds of notifications, each once, without their numbers. */
function listKinds(received: readonly unknown[]): unknown[] {
  const texts = received.map((one) => stringifyJson(one).replaceAll(/("\w+":)\d+/g, '$1"<number>"'));
  const kindOf = (text: string) => /"type":"(\w+)"/.exec(text)?.[1] ?? '';
  const sorted = [...new Set(texts)].toSorted((a, b) => (kindOf(a) < kindOf(b) ? -1 : 1));
  return sorted.map((text) => JSON.parse(text));
}

/** The number of a subscription is any; that there is one counts. */
function withoutNumber(answer: unknown): unknown {
  const isSubscribed = typeof answer === 'object' && answer !== null && 'result' in answer;
  return isSubscribed ? { ...answer, result: typeof answer.result } : answer;
}
