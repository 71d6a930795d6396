import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Sends a request with its body, and resolves with the response when its headers have come.
 * @throws Error of the connection, also if it closes without a response. Node reports a switch to another protocol (101) by
 * `close` alone, and the request's signal has no effect after it.
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
