import { isIPv6 } from 'node:net';
import process from 'node:process';
import { pluralize } from '@flywheel/protocol';
import type { Config, Diagnostics } from '@flywheel/service';
import { isBlockhash } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import packageFile from '../../../package.json' with { type: 'json' };
import { type Context, serviceUrl, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { type Check, describeChecks, failure, inOrder, ok, reasonOf, warning } from './check.ts';
import { checkCluster } from './cluster.ts';
import { checkDatabase, checkQueue, type Operators } from './database.ts';
import { checkBalance, checkNonceAccounts, listPayers } from './funds.ts';
import { checkSettings } from './settings.ts';
import { checkSigners } from './signers.ts';

/** `flywheel doctor`: checks the service of this environment. */
export function addDoctorCommand(program: Command, context: Context): void {
  program
    .command('doctor')
    .summary('check the service of this environment')
    .description(
      'Check everything that a service with this environment needs: signers, database, cluster, RPC nodes, block engine, balance, nonces, settings, worker, jobs, HTTP. Changes nothing. Prints a line per check: ✓ ok, ! warning, ✗ failed, with what to do. Exits with 3 if a check failed.',
    )
    .option('--url <url>', 'service URL; default: FLYWHEEL_URL, or HOST and PORT')
    .option('--cluster <name>', 'the cluster that it must be: mainnet, devnet, testnet or a genesis hash', readCluster)
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… flywheel doctor --cluster mainnet',
    )
    .action(async ({ url, cluster }: UrlOption & { readonly cluster?: string }) => {
      const { environment, output } = context;
      const isNamed = url !== undefined || Boolean(environment.FLYWHEEL_URL);
      const checks = await runChecks({
        environment,
        cluster: cluster ?? null,
        url: isNamed ? serviceUrl(context, { ...(url !== undefined && { url }) }) : null,
      });
      const failed = checks.filter(({ state }) => state === 'failure').length;
      output.result({ ok: failed === 0, findings: checks }, describeChecks(checks, output.stdout));
      if (failed > 0) throw new CliError('ERR_UNHEALTHY', `${failed} of ${pluralize(checks.length, 'check')} failed.`);
    });
}

/** @throws InvalidArgumentError for what is neither a public cluster nor a hash. */
function readCluster(text: string): string {
  if (['mainnet', 'devnet', 'testnet'].includes(text) || isBlockhash(text)) return text;
  throw new InvalidArgumentError('It takes mainnet, devnet, testnet or a genesis hash.');
}

interface CheckOptions {
  /** The cluster that it must be; null: any. */
  readonly cluster: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** URL of the service; null: the HOST and PORT of its configuration. */
  readonly url: string | null;
}

/** Runs all checks. It reports errors as checks and does not throw them. */
async function runChecks({ environment, cluster: expected, url }: CheckOptions): Promise<readonly Check[]> {
  // Loaded on demand: the other commands start faster without the service.
  const service = await import('@flywheel/service');
  const versions = ok('versions', `flywheel ${packageFile.version}, Node ${process.versions.node}.`);
  let config: Config;
  try {
    config = service.parseConfig({ LOG_LEVEL: 'silent', ...environment });
  } catch (error) {
    if (!(error instanceof service.ConfigError)) throw error;
    const remedy = 'Fix the variable; docs/operating.md lists all of them. No other check was run.';
    return [versions, ...error.message.split('\n').map((issue) => failure('configuration', issue, remedy))];
  }
  const keyIssue = await service.findWebhookKeyIssue(config);
  const diagnostics = service.createDiagnostics(config);
  const operators = await readOperators(diagnostics);
  const operator = operators.present ?? null;
  const rpcUrls = config.solanaRpcUrls ?? [`http://127.0.0.1:${config.localnet.port}`];
  const [database, { checks: clusterChecks, node }, http] = await Promise.all([
    checkDatabase(config, diagnostics),
    checkCluster(rpcUrls, { config, service, expected, operator }),
    checkHttp(config, url),
  ]);
  const state = database.service;
  return inOrder([
    versions,
    keyIssue === null
      ? ok('configuration', describeConfig(config))
      : failure('configuration', keyIssue, 'Correct the file: no process starts with it. The other checks were run.'),
    ...(await checkSigners({
      ...{ diagnostics, recovery: config.recoveryAddress, findKeyConflict: service.findKeyConflict },
      ...{ members: [], nonces: [], ...state },
    })),
    ...database.checks,
    ...clusterChecks,
    ...(await Promise.all(
      listPayers(operators, state?.members ?? []).map((payer) =>
        checkBalance(payer, node, service.OPERATOR_RESERVE_LAMPORTS),
      ),
    )),
    ...(state === null ? [] : checkQueue(config, state, operators)),
    ...(state === null || node === null || operator === null
      ? []
      : await checkNonceAccounts({ ...state, node, operator, readNonces: service.readNonces })),
    ...(node === null ? [] : checkSettings(config, node, service)),
    http,
  ]);
}

async function readOperators(diagnostics: Diagnostics): Promise<Operators> {
  const addressOf = async (role: 'operator' | 'previousOperator') =>
    (await diagnostics.signer(role).catch(() => null))?.address;
  return { present: await addressOf('operator'), previous: await addressOf('previousOperator') };
}

function describeConfig({ databaseUrl, solanaRpcUrls, dataDirectory }: Config): string {
  const database = databaseUrl === null ? `embedded PostgreSQL in ${dataDirectory}` : 'PostgreSQL of DATABASE_URL';
  const cluster = solanaRpcUrls === null ? 'a local cluster' : 'the cluster of SOLANA_RPC_URL';
  return `Valid: ${database}, ${cluster}.`;
}

/** Longer than the two seconds after which the service gives up its own checks. */
const HTTP_TIMEOUT_MS = 5_000;
const MAX_QUOTED = 200;

async function checkHttp({ host, port }: Config, url: string | null): Promise<Check> {
  const base = url ?? `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  let response: Response;
  let text: string;
  try {
    response = await fetch(new URL('/health/ready', base), { signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
    text = await response.text();
  } catch (error) {
    const remedy = 'Start it with npm start or flywheel serve; FLYWHEEL_URL sets another address.';
    return warning('http', `No service answers at ${base}: ${reasonOf(error)}.`, remedy);
  }
  if (response.ok) return ok('http', `The service at ${base} is ready.`);
  const remedy = 'It cannot reach its database or its cluster: /health/ready names which one, its log the reason.';
  return failure('http', `The service at ${base} answers ${response.status}: ${text.slice(0, MAX_QUOTED)}`, remedy);
}
