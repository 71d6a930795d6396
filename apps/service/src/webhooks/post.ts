import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { responseTo } from '../response-to.ts';
import { findUrlIssue, literalOf, type ReceiverRules } from './receiver-address.ts';

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PostDeps {
  readonly rules: ReceiverRules;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
}

export interface PostAnswer {
  readonly status: number;
  /** Stored beginning of the response, without characters that a text column cannot store. */
  readonly text: string;
}

/** Enough to show an error; some receivers answer with whole pages. */
const MAX_ANSWER_BYTES = 1_024;
/** Only the status matters, so the rest of the body gets little time. */
const BODY_TIMEOUT_MS = 1_000;

/**
 * Posts to a receiver on a separate connection and returns the status, without following redirects. The status counts
 * even if reading the body fails.
 * @throws Error if there is no response in time, or if the address is forbidden.
 */
export async function post(
  { rules, lookup, timeoutMs }: PostDeps,
  sent: Post,
  signal: AbortSignal,
): Promise<PostAnswer> {
  // The URL is checked again by today's rules. IP literals skip DNS, so this is their only SSRF check.
  const issue = findUrlIssue(sent.url, rules);
  if (issue !== null) throw new Error(`The URL ${issue}`);
  const url = new URL(sent.url);
  const timeout = AbortSignal.timeout(timeoutMs);
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)({
    protocol: url.protocol,
    hostname: literalOf(url.hostname) ?? url.hostname,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers: { ...sent.headers, 'content-length': Buffer.byteLength(sent.body) },
    agent: false,
    lookup,
    signal: AbortSignal.any([signal, timeout]),
  });
  try {
    const response = await responseTo(request, sent.body);
    return { status: response.statusCode ?? 0, text: await beginningOf(response) };
  } catch (error) {
    if (timeout.aborted && !signal.aborted) throw new Error(`There was no answer within ${timeoutMs / 1_000} s.`);
    throw error;
  } finally {
    request.destroy();
  }
}

function beginningOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = () => {
      clearTimeout(timer);
      resolve(clean(Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES)));
    };
    const timer = setTimeout(end, BODY_TIMEOUT_MS);
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_ANSWER_BYTES) end();
    });
    for (const event of ['end', 'error', 'close']) response.on(event, end);
  });
}

/** Removes what a text column (a zero byte) or a screen (control characters) cannot hold. */
function clean(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, '')
    .trim();
}
