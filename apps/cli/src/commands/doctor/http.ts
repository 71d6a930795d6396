import type { Config } from '@flywheel/service';
import { type Finding, failure, ok, reasonOf, warning } from './check.ts';

/** The service itself gives up on a check after two seconds. */
const TIMEOUT_MS = 5_000;

/** Whether the service answers that it is ready. */
export async function checkHttp({ host, port }: Config, url: string | null): Promise<Finding> {
  const base = url ?? `http://${host}:${port}`;
  let response: Response;
  let text: string;
  try {
    response = await fetch(new URL('/health/ready', base), { signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = await response.text();
  } catch (error) {
    const remedy = 'Start it with npm start or flywheel serve; FLYWHEEL_URL names another place.';
    return warning('http', `No service answers at ${base}: ${reasonOf(error)}.`, remedy);
  }
  if (response.ok) return ok('http', `The service at ${base} is ready.`);
  const remedy = 'Its database or its cluster is out of its reach; /health/ready names which, its log says why.';
  return failure('http', `The service at ${base} answers ${response.status}: ${text.slice(0, MAX_QUOTED)}`, remedy);
}

const MAX_QUOTED = 200;
