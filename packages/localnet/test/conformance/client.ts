import { once } from 'node:events';
import { parseJson } from '@flywheel/solana-rpc';
import { WebSocket } from 'ws';
import { stringifyJson } from '../../src/json.ts';

/** A cluster that the script asks: any node with JSON-RPC and subscriptions. */
export interface Target {
  readonly url: string;
  readonly websocketUrl: string;
  /** Lets the cluster go on by about one slot: it waits, or skips a slot where that is possible. */
  pass(): Promise<void>;
}

/** Answer to one HTTP request. */
export interface HttpAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
}

/** Number of `pass` calls after which waiting fails: two minutes of slots. */
const MAX_PASSES = 600;

/** Calls a method; returns `{ result }` or `{ error }`. */
export async function callMethod({ url }: Target, method: string, params?: readonly unknown[]): Promise<object> {
  const { body } = await sendRequest(url, stringifyJson({ jsonrpc: '2.0', id: 1, method, params }));
  if (typeof body !== 'object' || body === null) throw new Error(`${method} answered ${String(body)}.`);
  if (!('jsonrpc' in body && body.jsonrpc === '2.0' && 'id' in body && body.id === 1)) {
    throw new Error(`${method} answered without its version or number: ${stringifyJson(body)}`);
  }
  const { jsonrpc: _version, id: _id, ...answer } = body;
  return answer;
}

/** Returns the result of a method. Throws Error if it answers an error. */
export async function resultOf(target: Target, method: string, params?: readonly unknown[]): Promise<unknown> {
  const answer = await callMethod(target, method, params);
  if (!('result' in answer)) throw new Error(`${method} failed: ${stringifyJson(answer)}`);
  return answer.result;
}

/** Sends a body with any content; a body in JSON is parsed, with exact integers. */
export async function sendRequest(url: string, content: string, init: RequestInit = {}): Promise<HttpAnswer> {
  const headers = { 'content-type': 'application/json' };
  const body = init.method === undefined ? { body: content } : {};
  const response = await fetch(url, { method: 'POST', headers, ...body, ...init });
  const text = await response.text();
  const type = response.headers.get('content-type');
  return { status: response.status, type, body: type?.includes('json') && text !== '' ? parseJson(text) : text };
}

/** Repeats a question until it is answered with a value, and lets the cluster go on in between. */
export async function waitFor<T>(target: Target, what: string, ask: () => Promise<T | null>): Promise<T> {
  for (let passes = 0; passes < MAX_PASSES; passes += 1) {
    const answer = await ask();
    if (answer !== null) return answer;
    await target.pass();
  }
  throw new Error(`The cluster did not come to this: ${what}.`);
}

/** A connection for subscriptions. */
export interface Connection {
  /** Sends a message and returns the answer to it; for a text without a number, the next message that is no notification. */
  ask(message: string): Promise<unknown>;
  /** Returns the notifications of a subscription so far. */
  notifications(subscription: unknown): readonly unknown[];
  close(): void;
}

export async function connect({ websocketUrl }: Target): Promise<Connection> {
  const socket = new WebSocket(websocketUrl);
  await once(socket, 'open');
  const received: unknown[] = [];
  const waiting: ((answer: unknown) => void)[] = [];
  socket.on('message', (content) => {
    const message = parseJson(String(content));
    if (typeof message === 'object' && message !== null && 'params' in message) received.push(message);
    else waiting.shift()?.(message);
  });
  return {
    ask: (message) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        socket.send(message);
      }),
    notifications: (subscription) => received.filter((message) => subscriptionOf(message) === subscription),
    close: () => socket.close(),
  };
}

function subscriptionOf(message: unknown): unknown {
  if (typeof message !== 'object' || message === null || !('params' in message)) return undefined;
  const { params } = message;
  return typeof params === 'object' && params !== null && 'subscription' in params ? params.subscription : undefined;
}
