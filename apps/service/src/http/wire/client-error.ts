import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '@flywheel/api';
import { errorBody } from './answer-error.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** Node's own bound on the request line and headers together; `maxHeaderSize` is set to it. */
export const MAX_HEADER_BYTES = 16_384;

/** Answers what Node's parser refuses before there is a request, then closes the connection. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const refusal = new ApiError('ERR_INVALID_REQUEST', { place: 'request', problem: problemOf(error.code) });
  const body = errorBody(refusal);
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': randomUUID(),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refusal.status} Bad Request\r\n${lines.join('')}\r\n${body}`);
}

/** Once the headers of an answer are out, a second answer on top of it would be garbage. Node's own check. */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

/** By the codes of Node and llhttp. */
function problemOf(code: string | undefined): string {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return `has a URL and headers of more than ${MAX_HEADER_BYTES} bytes together.`;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'did not arrive in time.';
    default:
      return 'is not HTTP/1.1.';
  }
}
