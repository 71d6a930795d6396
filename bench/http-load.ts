import { connect, type Socket } from 'node:net';

/** Separates head and body of an HTTP message. */
const HEAD_END = '\r\n\r\n';
/** End of a body in chunks. */
const LAST_CHUNK = '0\r\n\r\n';

export interface Load {
  readonly port: number;
  /** Number of open connections; each sends one request at a time. */
  readonly senders: number;
  readonly requests: readonly HttpRequest[];
  /** Receives the body of each answer. If it throws, the load ends. */
  readonly check?: (body: string) => void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpAnswer {
  readonly status: number;
  /** The body; if it was sent in chunks, with their frames. */
  readonly body: string;
}

/** A keep-alive connection, which sends one request at a time. It connects again if the server has closed it meanwhile. */
export interface Connection {
  /** @param text is made by `textOf`. @throws Error if the connection ends before the answer. */
  send(text: string): Promise<HttpAnswer>;
  close(): void;
}

/**
 * Sends requests over keep-alive connections until all are answered. It uses bare sockets, since a client that spends
 * more on a request than the server would measure itself.
 * @returns the milliseconds that each answer took, in the order of the answers.
 * @throws Error if an answer is not 200.
 */
export async function sendLoad({ port, senders, requests, check }: Load): Promise<number[]> {
  const texts = requests.map((request) => textOf(port, request));
  const took: number[] = [];
  const left = texts.values();
  const sendAll = async () => {
    const connection = openConnection({ port });
    for (const text of left) {
      const start = performance.now();
      const { status, body } = await connection.send(text);
      took.push(performance.now() - start);
      if (status !== 200) throw new Error(`A request was answered ${status}: ${body}`);
      check?.(body);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: senders }, sendAll));
  return took;
}

/** Writes a request as it is sent. */
export function textOf(port: number, { method, path, headers = {}, body }: HttpRequest): string {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    ...headers,
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

/** @param localAddress is the address of this machine from which the connection comes. */
export function openConnection(target: { readonly port: number; readonly localAddress?: string }): Connection {
  let socket: Socket | null = null;
  let waiting: PromiseWithResolvers<HttpAnswer> | null = null;
  let received = '';

  const open = () => {
    const opened = connect({ ...target, host: '127.0.0.1', noDelay: true });
    const end = (error: Error) => {
      if (socket !== opened) return;
      socket = null;
      waiting?.reject(error);
      waiting = null;
    };
    opened.setEncoding('latin1');
    opened.on('data', (chunk: string) => {
      received += chunk;
      const answer = readAnswer(received);
      if (answer === null) return;
      received = '';
      if (answer.isLast && socket === opened) {
        socket = null;
        opened.end();
      }
      waiting?.resolve(answer);
      waiting = null;
    });
    opened.on('error', end);
    opened.on('close', () => end(new Error('The connection ended before the answer.')));
    return opened;
  };
  return {
    send: (text) => {
      waiting = Promise.withResolvers();
      socket ??= open();
      socket.write(text);
      return waiting.promise;
    },
    close: () => socket?.end(),
  };
}

/** Reads an answer; null until it is complete. */
function readAnswer(received: string): (HttpAnswer & { readonly isLast: boolean }) | null {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const head = received.slice(0, headEnd);
  const body = received.slice(headEnd + HEAD_END.length);
  const status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  const [, digits] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
  const isComplete = digits === undefined ? body.endsWith(LAST_CHUNK) : body.length >= Number(digits);
  if (!isComplete && status !== 204) return null;
  return { status, body, isLast: /\r\nconnection: close/i.test(head) };
}
