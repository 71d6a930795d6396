import { type Config, ConfigError, examine, parseConfig } from '@flywheel/service';
import { type Finding, failure, ok, reasonOf } from './check.ts';
import { checkCluster } from './cluster.ts';
import { checkDatabase, type DatabaseFindings } from './database.ts';
import { checkHttp } from './http.ts';
import { checkQueue } from './queue.ts';
import { checkSigners } from './signers.ts';

export interface DiagnoseOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of the service as others reach it; null: where this configuration has it listen. */
  readonly url: string | null;
  readonly versions: { readonly flywheel: string; readonly node: string };
}

/** Looks at all that a service of this environment needs, and changes none of it. Nothing that is wrong makes it throw. */
export async function diagnose({ environment, url, versions }: DiagnoseOptions): Promise<readonly Finding[]> {
  const own = ok('versions', `flywheel ${versions.flywheel}, Node ${versions.node}.`);
  const read = readConfig(environment);
  if ('faults' in read) return [own, ...read.faults];
  const { config } = read;
  const examination = examine(config);
  const rpcUrl = config.solanaRpcUrl ?? `http://127.0.0.1:${config.localnet.port}`;
  const reading = examination.database().then(
    (found) => ({ found }),
    (error: unknown) => ({ error }),
  );
  const [database, cluster, http] = await Promise.all([reading, checkCluster(rpcUrl, config), checkHttp(config, url)]);
  const found: DatabaseFindings | null = 'found' in database ? database.found : null;
  return [
    own,
    ok('configuration', describeConfig(config)),
    ...('error' in database ? [unreachable(config, database.error)] : checkDatabase(config, database.found)),
    ...cluster,
    ...(await checkSigners({ examination, rpcUrl, members: found?.service?.members ?? [] })),
    ...checkQueue(config, found?.service ?? null),
    http,
  ];
}

function readConfig(environment: DiagnoseOptions['environment']): { config: Config } | { faults: Finding[] } {
  try {
    return { config: parseConfig({ LOG_LEVEL: 'silent', ...environment }) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'Mend the variable; docs/operating.md lists all of them. Nothing else was looked at.';
    return { faults: error.message.split('\n').map((fault) => failure('configuration', fault, remedy)) };
  }
}

function describeConfig({ databaseUrl, solanaRpcUrl, dataDirectory }: Config): string {
  const database = databaseUrl === null ? `embedded PostgreSQL in ${dataDirectory}` : 'PostgreSQL of DATABASE_URL';
  const cluster = solanaRpcUrl === null ? 'a local cluster of its own' : 'the cluster of SOLANA_RPC_URL';
  return `Well formed: ${database}, ${cluster}.`;
}

function unreachable({ databaseUrl, dataDirectory }: Config, error: unknown): Finding {
  const place = databaseUrl === null ? `in ${dataDirectory}` : `at ${placeOf(databaseUrl)}`;
  const remedy =
    databaseUrl === null
      ? `See the end of server.log beside the database’s files, and whether the disk is full.`
      : 'Check that PostgreSQL runs there, and the user, password and database of DATABASE_URL.';
  return failure('database', `The database ${place} does not answer: ${reasonOf(error)}.`, remedy);
}

/** Without the password. */
function placeOf(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(databaseUrl);
  return `${searchParams.get('host') ?? host}${pathname}`;
}
