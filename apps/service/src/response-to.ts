import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Sends a request with its body, and resolves with the response when its headers have come.
 * @throws Error of the connection, also if it closes without a response. A server does that with 101, which Node reports by `close`
 * alone, and after which the request's signal has no effect any more.
 */
export function responseTo(request: ClientRequest, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    // Errors after the answer has begun are ignored: the promise is already resolved.
    request.on('error', reject);
    request.on('close', () => reject(new Error('The connection closed without an answer.')));
    request.end(body);
  });
}
