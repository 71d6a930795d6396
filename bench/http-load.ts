import { connect } from 'node:net';

/** Separates head and body of an HTTP message. */
const HEAD_END = '\r\n\r\n';

export interface Load {
  readonly port: number;
  /** Number of open connections; each sends one request at a time. */
  readonly senders: number;
  readonly requests: readonly HttpRequest[];
  /** Receives the body of each answer. If it throws, the load ends. */
  readonly check: (answer: string) => void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Sends requests over keep-alive connections until all are answered. It uses bare sockets, since a client that spends
 * more on a request than the server would measure itself. Answers must have a Content-Length.
 * @returns the milliseconds that each answer took, in the order of the answers.
 */
export async function sendLoad({ port, senders, requests, check }: Load): Promise<number[]> {
  const texts = requests.map((request) => textOf(port, request));
  const took: number[] = [];
  let next = 0;
  const runOne = () => {
    let start = 0;
    const take = () => {
      start = performance.now();
      return texts[next++];
    };
    return runSender(port, take, (answer) => {
      took.push(performance.now() - start);
      check(answer);
    });
  };
  await Promise.all(Array.from({ length: senders }, runOne));
  return took;
}

function textOf(port: number, { method, path, headers = {}, body }: HttpRequest): string {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    ...headers,
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

function runSender(port: number, take: () => string | undefined, check: (answer: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received = '';
    const sendNext = () => {
      const request = take();
      if (request === undefined) socket.end();
      else socket.write(request);
    };
    socket.setEncoding('latin1');
    socket.on('connect', sendNext);
    socket.on('data', (chunk: string) => {
      received += chunk;
      const answer = readAnswer(received);
      if (answer === null) return;
      received = '';
      try {
        check(answer);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      sendNext();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}

/** Extracts the body; null until it is complete. */
function readAnswer(received: string): string | null {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const [, digits] = /\r\ncontent-length: (\d+)/i.exec(received) ?? [];
  if (digits === undefined) throw new Error(`An answer without a length: ${received.slice(0, headEnd)}`);
  const body = received.slice(headEnd + HEAD_END.length);
  return body.length < Number(digits) ? null : body;
}
