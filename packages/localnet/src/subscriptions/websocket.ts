import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { INVALID_PARAMS, PARSE_ERROR, parseJson } from '@flywheel/solana-rpc';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { stringifyJson } from '../json.ts';
import { answerCalls, errorResponse, type Method, type Methods } from '../rpc/answer-call.ts';
import { CallError, invalidParams } from '../rpc/call-error.ts';
import { parseParams } from '../rpc/params.ts';
import type { Feed } from './feed.ts';
import type { Subscription } from './subscribe.ts';

/** Maximum size of a message; the same as for HTTP requests. */
const MAX_MESSAGE_BYTES = 50 * 1024;
/** Maximum size of unread notifications per client; a slower client is disconnected. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;
const MAX_SUBSCRIPTIONS = 1_000;
/** WebSocket close code "try again later". */
const TOO_SLOW = 1013;

const subscriptionParam = z.int().nonnegative();

export interface WebsocketDeps {
  readonly kinds: Readonly<Record<string, (params: readonly unknown[]) => Subscription>>;
  readonly feed: Feed;
  readonly onError: (error: unknown) => void;
}

/** Serves Solana's subscription API to WebSocket clients of HTTP servers. */
export interface WebsocketGate {
  /** Lets clients of a server upgrade at `/`. */
  serve(server: Server): void;
  /** Drops all connections without a close frame; clients may connect again. Returns their number. */
  drop(): number;
  /** Disconnects all clients and accepts no more. */
  close(): void;
}

export function createWebsocketGate(deps: WebsocketDeps): WebsocketGate {
  const gate = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  let lastNumber = 0;
  const nextNumber = () => {
    lastNumber += 1;
    return lastNumber;
  };
  const drop = () => {
    const clients = [...gate.clients];
    for (const client of clients) client.terminate();
    return clients.length;
  };
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    if ((request.url ?? '/').split('?')[0] !== '/') {
      socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
      return;
    }
    gate.handleUpgrade(request, socket, head, (client) => serveClient(deps, client, nextNumber));
  };
  return {
    serve: (server) => {
      server.on('upgrade', upgrade);
    },
    drop,
    close: () => {
      drop();
      gate.close();
    },
  };
}

function serveClient(deps: WebsocketDeps, client: WebSocket, nextNumber: () => number): void {
  const { feed, kinds, onError } = deps;
  const ends = new Map<number, () => void>();
  const send = (text: string) => {
    if (client.readyState !== client.OPEN) return;
    client.send(text);
    if (client.bufferedAmount > MAX_BUFFERED_BYTES) {
      client.close(TOO_SLOW, 'notifications are not read fast enough');
      client.terminate();
    }
  };
  const subscribe = (subscription: Subscription) => {
    if (ends.size >= MAX_SUBSCRIPTIONS) throw invalidParams(`at most ${MAX_SUBSCRIPTIONS} subscriptions a connection`);
    const number = nextNumber();
    const end = feed.add(subscription, (result, last) => {
      if (last) ends.delete(number);
      const params = { result, subscription: number };
      send(stringifyJson({ jsonrpc: '2.0', method: subscription.notification, params }));
    });
    ends.set(number, end);
    return number;
  };
  const unsubscribe = (params: readonly unknown[]) => {
    const [number] = parseParams([subscriptionParam], params);
    const end = ends.get(number);
    if (!end) throw new CallError(INVALID_PARAMS, 'Invalid subscription id.');
    end();
    ends.delete(number);
    return true;
  };
  const methods = new Map<string, Method>();
  for (const [name, read] of Object.entries(kinds)) {
    methods.set(name, (params) => subscribe(read(params)));
    methods.set(name.replace('Subscribe', 'Unsubscribe'), unsubscribe);
  }
  client.on('message', (content) => {
    answerMessage(methods, content, onError)
      .then((answer) => {
        if (answer !== null) send(answer);
      })
      .catch(onError);
  });
  // A malformed frame closes the connection; without a listener it would end the process.
  client.on('error', () => client.terminate());
  client.on('close', () => {
    for (const end of ends.values()) end();
    ends.clear();
  });
}

async function answerMessage(
  methods: Methods,
  content: RawData,
  onError: (error: unknown) => void,
): Promise<string | null> {
  let calls: unknown;
  try {
    calls = parseJson(String(content));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return stringifyJson(errorResponse(null, new CallError(PARSE_ERROR, 'Parse error')));
  }
  return answerCalls(methods, calls, onError);
}
