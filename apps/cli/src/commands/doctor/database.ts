import { maxRentLamports, pluralize } from '@flywheel/protocol';
import type { Config, Diagnostics } from '@flywheel/service';
import type { Address } from '@solana/kit';
import { getNonceSize } from '@solana-program/system';
import { formatSol, roughDuration } from '../../format.ts';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import { checkDatabaseClock } from './clocks.ts';

type DatabaseState = NonNullable<Awaited<ReturnType<Diagnostics['database']>>>;
export type ServiceState = NonNullable<DatabaseState['service']>;

export interface DatabaseChecks {
  readonly checks: readonly Check[];
  /** null if the database does not answer or its schema is not up to date. */
  readonly service: ServiceState | null;
}

/** Checks that the database answers, its version and its schema. */
export async function checkDatabase(config: Config, diagnostics: Diagnostics): Promise<DatabaseChecks> {
  let state: DatabaseState | null;
  try {
    state = await diagnostics.database();
  } catch (error) {
    return { checks: [unreachable(config, error)], service: null };
  }
  if (state) {
    const rights = state.rights === null ? [] : [checkRights(config, state.rights)];
    return {
      checks: [
        checkVersion(state),
        ...(await checkPooler(diagnostics)),
        checkSchema(state),
        ...rights,
        checkDatabaseClock(state),
      ],
      service: state.service,
    };
  }
  const text = `There is no database in the data directory ${config.dataDirectory}.`;
  const remedy = 'npm start creates it; DATABASE_URL sets another database.';
  return { checks: [warning('database', text, remedy)], service: null };
}

function unreachable({ databaseUrl, dataDirectory }: Config, error: unknown): Check {
  const name = databaseUrl === null ? `in ${dataDirectory}` : `at ${withoutPassword(databaseUrl)}`;
  const remedy =
    databaseUrl === null
      ? 'Check the end of server.log beside the database’s files, and the free disk space.'
      : 'Check that PostgreSQL runs there, and the user, password and database name of DATABASE_URL.';
  return failure('database', `The database ${name} does not answer: ${reasonOf(error)}.`, remedy);
}

function withoutPassword(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(databaseUrl);
  return `${searchParams.get('host') ?? host}${pathname}`;
}

/** The version that the service is tested with. */
const POSTGRES_MAJOR = 18;

function checkVersion({ version }: DatabaseState): Check {
  if (Number.parseInt(version, 10) >= POSTGRES_MAJOR) return ok('database', `PostgreSQL ${version} answers.`);
  const text = `PostgreSQL ${version} answers; the service is tested with ${POSTGRES_MAJOR}.`;
  return warning('database', text, `Upgrade to PostgreSQL ${POSTGRES_MAJOR}.`);
}

/** Checks the pooler in front of PostgreSQL, if there is one, and the way around it. */
async function checkPooler(diagnostics: Diagnostics): Promise<Check[]> {
  try {
    const { isPooled, issues } = await diagnostics.pooler();
    if (issues.length > 0) {
      return issues.map(({ isFatal, text, remedy }) => (isFatal ? failure : warning)('pooler', text, remedy));
    }
    return [ok('pooler', isPooled ? 'A pooler answers DATABASE_URL.' : 'PostgreSQL answers without a pooler.')];
  } catch (error) {
    const remedy = 'Check that PostgreSQL runs there, and the user, password and database name of DATABASE_DIRECT_URL.';
    return [failure('pooler', `DATABASE_DIRECT_URL does not answer: ${reasonOf(error)}.`, remedy)];
  }
}

function checkSchema({ pendingMigrations, unknownMigrations, isSchemaTooNew }: DatabaseState): Check {
  if (isSchemaTooNew) {
    const text = `The schema is too new for this release: it has ${unknownMigrations.join(', ')}.`;
    return failure('schema', text, 'Run the release that migrated it, or the one before that.');
  }
  if (pendingMigrations.length > 0) {
    const text = `${pluralize(pendingMigrations.length, 'pending migration')}: ${pendingMigrations.join(', ')}.`;
    return warning('schema', text, 'flywheel migrate applies them; the service also does when it starts.');
  }
  if (unknownMigrations.length > 0) {
    const text = `A newer release has applied ${unknownMigrations.join(', ')}; this one works with that.`;
    return warning(
      'schema',
      text,
      'Upgrade all processes, or take the newer ones back: docs/operating.md, An upgrade.',
    );
  }
  return ok('schema', 'All migrations are applied.');
}

/** Checks that `serve` and `work` have only their own rights in the database. */
function checkRights(
  { databaseRoles: { serve, work } }: Config,
  { login, isOwner, issues }: NonNullable<DatabaseState['rights']>,
): Check {
  if (issues.length > 0) {
    const remedy = 'flywheel migrate corrects them, with the DATABASE_URL of the tables’ owner.';
    return failure('roles', issues.join(' '), remedy);
  }
  if (!isOwner)
    return ok('roles', `The login ${login} does not own the tables: it has only the rights that were granted.`);
  if (serve !== null && work !== null) return ok('roles', `serve has the rights of ${serve}, work those of ${work}.`);
  const unset = [serve === null ? 'DATABASE_SERVE_ROLE' : '', work === null ? 'DATABASE_WORK_ROLE' : ''].filter(
    Boolean,
  );
  const text = `The login ${login} owns the tables, and ${unset.join(' and ')} ${unset.length === 1 ? 'is' : 'are'} not set: whoever owns such a process can write every row.`;
  return warning('roles', text, 'Give serve and work roles of their own: docs/operating.md, Roles in the database.');
}

/** Addresses of the operators that this environment has; undefined for one that it does not have. */
export interface Operators {
  readonly present: Address | undefined;
  readonly previous: Address | undefined;
}

/**
 * Checks the nonces of the present operator, and those of keys that are missing; the worker; the jobs; and the
 * rotations that wait.
 */
export function checkQueue(
  config: Config,
  service: Omit<ServiceState, 'freeNonces'>,
  { present, previous }: Operators,
): Check[] {
  const isOwn = ({ operator }: ServiceState['nonces'][number]) =>
    operator === null || present === undefined || operator === present;
  const nonces = service.nonces.filter((each) => isOwn(each) && each.operator !== previous);
  const isNamed = (operator: string | null) =>
    operator === previous || service.members.some((member) => member.operator === operator);
  const stranded = service.nonces.filter((each) => !isOwn(each) && !isNamed(each.operator));
  const rotations = service.waitingRotations.map(({ batchId, message }) =>
    warning('rotation', `Rotation ${batchId}: ${message}`, WAITING_ROTATION_REMEDY),
  );
  return [
    checkNonces(config, { nonces }),
    ...checkStrandedNonces(stranded),
    checkWorker(service),
    checkJobs(service),
    checkPartitions(service),
    ...(rotations.length > 0 ? rotations : [ok('rotation', 'No rotation waits for open batches.')]),
  ];
}

const WAITING_ROTATION_REMEDY =
  'Nothing to do unless it is urgent: the project can execute or cancel its open batches. ROTATION_GRACE_SECONDS is how long it waits.';

/** Below this share of the pool, nonces are used faster than they are created. */
const LOW_SHARE = 0.25;

function checkNonces({ noncePoolSize }: Config, { nonces }: Pick<ServiceState, 'nonces'>): Check {
  const countOf = (wanted: string) =>
    nonces.filter(({ state }) => state === wanted).reduce((sum, { count }) => sum + count, 0);
  const available = countOf('available');
  // The pool has NONCE_POOL_SIZE free nonces at rest, more after a burst, and those of admitted projects.
  const text = `${available} nonces are free (NONCE_POOL_SIZE is ${noncePoolSize}), ${countOf('leased')} leased, ${countOf('creating') + countOf('refreshing')} being prepared.`;
  if (available === 0) {
    const remedy = 'init fails until a worker creates some: run flywheel work, and check the operator’s balance.';
    return failure('nonces', text, remedy);
  }
  if (available < noncePoolSize * LOW_SHARE) {
    return warning('nonces', text, 'If this lasts, raise NONCE_POOL_SIZE.');
  }
  return ok('nonces', text);
}

/** Lists the nonces that no worker with this environment can move or close. The check of the operator names those of projects. */
function checkStrandedNonces(nonces: ServiceState['nonces']): Check[] {
  const byOperator = Map.groupBy(nonces, ({ operator }) => operator);
  return [...byOperator].map(([operator, counts]) => {
    const count = counts.reduce((sum, each) => sum + each.count, 0);
    const rent = formatSol(BigInt(count) * NONCE_LAMPORTS);
    const text = `${pluralize(count, 'nonce')} of ${operator}, whose key is not set, hold ${rent} of rent.`;
    const remedy = `Set OPERATOR_SIGNER_PREVIOUS to that key until doctor counts none. If it is lost: flywheel recover-operator ${operator} forgets them.`;
    return warning('nonces', text, remedy);
  });
}

const NONCE_LAMPORTS = maxRentLamports(getNonceSize());

/** A worker maintains the queue every five seconds. */
const WORKER_SILENCE_SECONDS = 30;

function checkWorker({ workerSeenSecondsAgo, jobs }: Pick<ServiceState, 'workerSeenSecondsAgo' | 'jobs'>): Check {
  if (workerSeenSecondsAgo !== null && workerSeenSecondsAgo <= WORKER_SILENCE_SECONDS) {
    return ok('worker', `A worker is running: last seen ${roughDuration(workerSeenSecondsAgo * 1_000)} ago.`);
  }
  const text =
    workerSeenSecondsAgo === null
      ? 'No worker has ever run.'
      : `No worker is running: the last one was seen ${roughDuration(workerSeenSecondsAgo * 1_000)} ago.`;
  const remedy = 'Start one with flywheel work, or run flywheel start, which includes one.';
  return jobs.length > 0 ? failure('worker', text, remedy) : warning('worker', text, remedy);
}

function checkJobs({ jobs }: Pick<ServiceState, 'jobs'>): Check {
  const stuck = jobs.filter(({ problem }) => problem !== null);
  if (stuck.length === 0) {
    return ok('jobs', jobs.length === 0 ? 'No open jobs.' : `${pluralize(jobs.length, 'open job')}, none stuck.`);
  }
  const [first] = stuck;
  const example = first?.error ? `, e.g. ${first.error.split('\n', 1)[0]}` : '';
  const text = `${stuck.length} of ${pluralize(jobs.length, 'job')} stuck${example}.`;
  return failure('jobs', text, 'flywheel jobs --stuck shows the reasons; flywheel jobs retry --stuck runs them now.');
}

/** A worker adds partitions three months ahead. */
const MIN_PARTITION_DAYS = 60;

function checkPartitions({ partitionsAheadSeconds }: Pick<ServiceState, 'partitionsAheadSeconds'>): Check {
  const days = Math.floor(partitionsAheadSeconds / 86_400);
  const text = `Events and deliveries can be stored for ${pluralize(Math.max(0, days), 'more day')}.`;
  if (days >= MIN_PARTITION_DAYS) return ok('partitions', text);
  const remedy = 'Without a partition no batch can be created or change. Start flywheel work, which adds them.';
  return days > 0 ? warning('partitions', text, remedy) : failure('partitions', text, remedy);
}
