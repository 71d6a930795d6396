import { FlywheelError } from '../../errors.ts';
import { repeat, retryAfterSeconds } from '../../wire/repeat.ts';

/** For one attempt: public clusters answer within a second or two, or not at all. */
const TIMEOUT_MS = 20_000;

/**
 * Asks a Solana RPC a reading method, over this client’s own connection and with nothing of the service between them.
 * What is answered is as the node sent it: unchecked.
 * @throws FlywheelError `ERR_UNREACHABLE`, `ERR_TIMED_OUT`, or `ERR_UNEXPECTED_REPLY` when the node refuses.
 */
export async function askRpc(rpcUrl: string, method: string, params: readonly unknown[]): Promise<unknown> {
  return repeat({ mayRepeat: isPassing }, async () => {
    const { response, text } = await post(rpcUrl, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const answer = parse(text);
    if (response.ok && answer && 'result' in answer) return answer.result;
    const said = answer && 'error' in answer ? JSON.stringify(answer.error) : text.slice(0, MAX_QUOTED_CHARACTERS);
    throw new FlywheelError({
      code: 'ERR_UNEXPECTED_REPLY',
      message: `${rpcUrl} answered ${method} with ${response.status}: ${said}`,
      status: response.status,
      retryAfterSeconds: retryAfterSeconds(response),
    });
  });
}

/** Enough to see what answered instead of a node. */
const MAX_QUOTED_CHARACTERS = 200;

/** Reading twice is reading once. */
function isPassing({ code, status }: FlywheelError): boolean {
  return code === 'ERR_UNREACHABLE' || code === 'ERR_TIMED_OUT' || status === 429 || (status ?? 0) >= 500;
}

async function post(rpcUrl: string, body: string): Promise<{ readonly response: Response; readonly text: string }> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(rpcUrl, { method: 'POST', headers, body, signal });
    return { response, text: await response.text() };
  } catch (cause) {
    if (!signal.aborted) {
      throw new FlywheelError({ code: 'ERR_UNREACHABLE', message: `No cluster answers at ${rpcUrl}.`, cause });
    }
    const message = `${rpcUrl} did not answer within ${TIMEOUT_MS / 1_000} s.`;
    throw new FlywheelError({ code: 'ERR_TIMED_OUT', message, cause });
  }
}

function parse(text: string): object | null {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === 'object' ? answer : null;
  } catch {
    // A proxy’s page, not a node’s answer: quoted by whoever asked.
    return null;
  }
}
