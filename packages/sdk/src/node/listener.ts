/** The part of `IncomingMessage` of node:http that is read. This package is compiled without the types of Node. */
export interface NodeRequest extends AsyncIterable<Uint8Array<ArrayBuffer>> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}

/** The part of `ServerResponse` of node:http that is written, and followed. */
export interface NodeResponse {
  once(event: 'close', onClosed: () => void): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: Uint8Array): unknown;
}

/** A listener for `createServer` of node:http. */
export type NodeListener = (incoming: NodeRequest, outgoing: NodeResponse) => Promise<void>;

/**
 * Makes a listener for `createServer` of node:http from a handler that takes a `Request` and returns a `Response`. Next,
 * Hono, Deno and workers run such a handler as it is. The host in the request's URL is always `localhost`, and its signal
 * is aborted when the client hangs up before the answer. A body above 1 MiB is answered with 413, and what the handler
 * throws with 500, so that no request ends the process.
 * @param onError is called with each error of the handler, and of a request that broke off.
 *
 * @example
 * createServer(toNodeListener(handle, (error) => console.error(error))).listen(3000, '127.0.0.1');
 */
export function toNodeListener(
  handle: (request: Request) => Promise<Response>,
  onError: (error: unknown) => void,
): NodeListener {
  return async (incoming, outgoing) => {
    const hangUp = new AbortController();
    let open: Request | null = null;
    // This keeps the request as well: one that is collected as garbage does not pass on that its signal is aborted.
    outgoing.once('close', () => open && hangUp.abort());
    try {
      const body = await readBody(incoming);
      open = body && toRequest(incoming, body, hangUp.signal);
      const response = open ? await handle(open) : tooLarge();
      const answer = new Uint8Array(await response.arrayBuffer());
      open = null;
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(answer);
    } catch (error) {
      onError(error);
      outgoing.writeHead(500, {});
      outgoing.end(new Uint8Array());
    }
  };
}

/** Far above the events of this service, far below what hurts a process. */
const MAX_BODY_BYTES = 1024 * 1024;

/** Reads the body; null if it is too large, and the rest is not read. */
async function readBody(incoming: NodeRequest): Promise<Blob | null> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return new Blob(chunks);
}

function tooLarge(): Response {
  return Response.json({ message: `The body may have ${MAX_BODY_BYTES} bytes.` }, { status: 413 });
}

function toRequest({ method = 'GET', url = '/', headers }: NodeRequest, body: Blob, signal: AbortSignal): Request {
  const fields = Object.entries(headers).map(([name, value = '']): [string, string] => [name, String(value)]);
  return new Request(new URL(url, 'http://localhost'), {
    method,
    headers: fields,
    signal,
    // A Request of these methods has no body.
    ...(method !== 'GET' && method !== 'HEAD' && { body }),
  });
}
