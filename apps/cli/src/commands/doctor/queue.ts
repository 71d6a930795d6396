import type { Config } from '@flywheel/service';
import { count, roughDuration } from '../../words.ts';
import { type Finding, failure, ok, warning } from './check.ts';
import type { DatabaseFindings } from './database.ts';

/** Nonces, workers and jobs; nothing where the database has nothing to say of them. */
export function checkQueue(config: Config, service: DatabaseFindings['service']): Finding[] {
  if (!service) return [];
  return [nonceFinding(config, service), workerFinding(service), jobFinding(service)];
}

type ServiceFindings = NonNullable<DatabaseFindings['service']>;

/** Below this share of the pool it drains faster than it is filled. */
const LOW_SHARE = 0.25;

function nonceFinding({ noncePoolSize }: Config, { nonces }: ServiceFindings): Finding {
  const countOf = (wanted: string) => nonces.find(({ state }) => state === wanted)?.count ?? 0;
  const available = countOf('available');
  const text = `${available} of ${noncePoolSize} nonces are free, ${countOf('leased')} leased, ${countOf('creating') + countOf('refreshing')} on their way.`;
  if (available === 0) {
    const remedy = 'init is refused until a worker has made some: run flywheel work, and see the operator’s balance.';
    return failure('nonces', text, remedy);
  }
  if (available < noncePoolSize * LOW_SHARE) {
    return warning('nonces', text, 'If it stays so, raise NONCE_POOL_SIZE.');
  }
  return ok('nonces', text);
}

/** Workers look after the queue every five seconds. */
const WORKER_SILENCE_SECONDS = 30;

function workerFinding({ workerSeenSecondsAgo, jobs }: ServiceFindings): Finding {
  if (workerSeenSecondsAgo !== null && workerSeenSecondsAgo <= WORKER_SILENCE_SECONDS) {
    return ok('worker', `A worker runs: it was seen ${roughDuration(workerSeenSecondsAgo * 1_000)} ago.`);
  }
  const text =
    workerSeenSecondsAgo === null
      ? 'No worker has ever run.'
      : `No worker runs: the last one was seen ${roughDuration(workerSeenSecondsAgo * 1_000)} ago.`;
  const remedy = 'Start one: flywheel work, or flywheel start, which has one.';
  return jobs.length > 0 ? failure('worker', text, remedy) : warning('worker', text, remedy);
}

function jobFinding({ jobs }: ServiceFindings): Finding {
  const stuck = jobs.filter(({ problem }) => problem !== null);
  if (stuck.length === 0) {
    return ok('jobs', jobs.length === 0 ? 'No job waits.' : `${count(jobs.length, 'job')} in hand, none stuck.`);
  }
  const [first] = stuck;
  const said = first?.error ? `, e.g. ${first.error.split('\n', 1)[0]}` : '';
  const text = `${stuck.length} of ${count(jobs.length, 'job')} stuck${said}.`;
  return failure('jobs', text, 'flywheel jobs --stuck says why; flywheel jobs retry --stuck lets them begin at once.');
}
