import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';

/** An event that pays whole tokens to an address, as a line of JSON. */
export function eventFor(toAddress: string, id: string, amount = 1): string {
  return JSON.stringify({ id, type: 'WATCH_AD', payload: { id }, actions: [{ action: 'AIRDROP', toAddress, amount }] });
}

/** A line of stdout. */
export interface ResultLine {
  readonly id: string | null;
  readonly state: string;
  readonly position?: number;
  readonly mergedPayload?: string;
  readonly line?: number;
  readonly error?: string;
}

/** Reads the lines of stdout. */
export function documentsOf(lines: string): ResultLine[] {
  return lines
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** An answer of `--listen`. */
export interface Answer {
  readonly status: number | undefined;
  readonly document: {
    readonly id?: string;
    readonly state?: string;
    readonly error?: string;
    readonly problems?: readonly { readonly place?: string }[];
  };
}

/** Sends a request to `--listen`. `fetch` does not send a host or an origin of the caller’s choice. */
export async function ask(
  port: string,
  {
    headers,
    path = '/events',
    body,
  }: { readonly headers: Record<string, string>; readonly path?: string; readonly body?: string },
): Promise<Answer> {
  const asked = request({ host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', headers });
  asked.end(body);
  const [answer] = await once(asked, 'response');
  return { status: answer.statusCode, document: JSON.parse(await text(answer)) };
}
