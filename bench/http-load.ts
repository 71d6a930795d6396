import { connect } from 'node:net';

/** Separates head and body of an HTTP message. */
const HEAD_END = '\r\n\r\n';

export interface Load {
  readonly port: number;
  /** Number of open connections; each sends one request at a time. */
  readonly senders: number;
  readonly bodies: readonly string[];
  /** Receives the body of each answer. If it throws, the load ends. */
  readonly check: (answer: string) => void;
}

/**
 * Posts bodies over keep-alive connections until all are answered. It uses bare sockets, since a client that spends
 * more on a request than the server would measure itself. Answers must have a Content-Length.
 */
export async function sendLoad({ port, senders, bodies, check }: Load): Promise<void> {
  const requests = bodies.map(
    (body) =>
      `POST / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}${HEAD_END}${body}`,
  );
  let next = 0;
  await Promise.all(Array.from({ length: senders }, () => runSender(port, () => requests[next++], check)));
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
