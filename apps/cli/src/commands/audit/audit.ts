import { type AuditBound, type AuditRecord, type AuditReport, type AuditState, auditVault } from '@flywheel/sdk';
import type { Address } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import { type Context, displayUrl, type RpcUrlOption, readRpcUrls } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { interruptible } from '../../interrupt.ts';
import { parseAddress } from '../../options.ts';
import { createProgressBar } from '../../progress.ts';
import { describeAudit, type Listed } from './describe.ts';
import { type EventMatches, matchEvents, readEvents } from './events.ts';
import { type Findings, openFindings, writeFindings } from './findings.ts';

interface AuditCommandOptions extends RpcUrlOption {
  readonly multisig?: Address;
  readonly from?: AuditBound;
  readonly to?: AuditBound;
  readonly events?: string;
  readonly state?: string;
  readonly csv?: string;
  readonly requestsPerSecond?: number;
  readonly confirmed?: boolean;
}

/** `flywheel audit`: all that a vault did in a period, from the chain alone. */
export function addAuditCommand(program: Command, context: Context): void {
  program
    .command('audit')
    .argument('<vault>', 'address of the vault, from the project', parseAddress)
    .summary('audit a vault over a period, from the chain alone')
    .description(
      'Audit a vault from the chain alone: pipelines and their proofs, what was burned, airdropped, withdrawn and deposited, changes of the multisig, and outflows without a proof. No service is asked. The balances of every account must chain without a gap. Exits with 3 for an outflow or an event without a proof, with 4 for a history with gaps.',
    )
    .option(
      '--multisig <address>',
      'multisig of the vault; needed only while the vault has executed nothing',
      parseAddress,
    )
    .option('--from <bound>', 'first slot, day (UTC) or time; default: the beginning', (text) =>
      parseBound(text, DAY_START),
    )
    .option('--to <bound>', 'last slot, day (UTC) or time; default: the newest slot', (text) =>
      parseBound(text, DAY_END),
    )
    .option('--events <file>', 'events that should be proven: {"type": …, "payload": …}, one a line')
    .option('--csv <file>', 'write every finding there, one a line')
    .option('--state <file>', 'keep the state there while the audit runs; the same line goes on after an interruption')
    .option('--requests-per-second <number>', 'most requests to the node; default: no limit', parseRate)
    .option('--confirmed', 'also count what is confirmed and not yet finalized')
    .option('--rpc-url <url>', 'node to read from, or several; default: SOLANA_RPC_URL or http://127.0.0.1:8899')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel audit 7Fq2… --from 2026-01-01 --to 2026-03-31 --csv audit.csv --state audit.state',
    )
    .action((vault: Address, options: AuditCommandOptions) => audit(context, vault, options));
}

async function audit(context: Context, vault: Address, options: AuditCommandOptions): Promise<void> {
  const { output } = context;
  const rpcUrls = readRpcUrls(context, options);
  const events = options.events === undefined ? null : await readEvents(options.events);
  const findings = await openFindings(options.state ?? null);
  try {
    if (findings.state) requireSameQuery(findings.state, vault, options);
    const nextStep = options.state === undefined ? '--state keeps the progress.' : 'The same line goes on.';
    const report = await interruptible(
      (signal) => scan(context, { vault, rpcUrls, options, findings, signal }),
      nextStep,
    );
    if (options.csv !== undefined) await writeFindings(options.csv, findings);
    const [listed, matches] = [await listFindings(findings), events && (await matchEvents(events, findings.read()))];
    const node = rpcUrls.map(displayUrl).join(', ');
    const document = { ...report, ...listed, events: matches, rpcUrl: node };
    output.result(toJson(document), describeAudit(report, listed, { events: matches, node, stream: output.stdout }));
    await findings.remove();
    requireGood(report, matches);
  } finally {
    await findings.close();
  }
}

interface Scan {
  readonly vault: Address;
  readonly rpcUrls: readonly string[];
  readonly options: AuditCommandOptions;
  readonly findings: Findings;
  readonly signal: AbortSignal;
}

async function scan({ output }: Context, { vault, rpcUrls, options, findings, signal }: Scan): Promise<AuditReport> {
  const bar = await createProgressBar(output);
  const { multisig, from, to, requestsPerSecond, confirmed } = options;
  const show = showProgress(bar.show);
  try {
    return await auditVault(
      rpcUrls,
      { vault, ...(multisig && { multisig }), ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
      {
        signal,
        ...(confirmed && { commitment: 'confirmed' }),
        ...(requestsPerSecond !== undefined && { requestsPerSecond }),
        ...(findings.state && { resume: findings.state }),
        onRecord: findings.add,
        onCheckpoint: async (state) => {
          show(state);
          await findings.checkpoint(state);
        },
      },
    );
  } finally {
    bar.close();
  }
}

/** A line of a log for each thousand transactions: the end of a history is not known before it is reached. */
function showProgress(show: (fraction: number, text: string) => void): (state: AuditState) => void {
  return ({ tally, slot, period }) => {
    const read = Math.floor(tally.read / PROGRESS_STEP) * PROGRESS_STEP;
    const first = typeof period.from === 'number' ? period.from : 0;
    const whole = period.headSlot - first;
    const fraction = slot === null || whole <= 0 ? 0 : Math.min(1, Math.max(0, (period.headSlot - slot) / whole));
    if (read > 0) show(fraction, `${read} transactions read, back to slot ${slot}`);
  };
}

const PROGRESS_STEP = 1_000;

/** @throws CliError `ERR_USAGE` if the state is that of another vault or period. */
function requireSameQuery({ period, vault }: AuditState, asked: Address, { from, to }: AuditCommandOptions): void {
  if (vault === asked && period.from === (from ?? null) && period.to === (to ?? null)) return;
  throw new CliError(
    'ERR_USAGE',
    `The state is of the audit of ${vault} from ${period.from ?? 'the beginning'} to ${period.to ?? 'the newest slot'}. Pass the same vault and period, or another --state.`,
  );
}

const MAX_LISTED = 1_000;

async function listFindings(findings: Findings): Promise<Listed> {
  const listed: Listed = { withdrawals: [], rotations: [], unexplained: [], foreign: [] };
  const listOf: { readonly [kind: string]: AuditRecord[] } = {
    withdrawn: listed.withdrawals,
    rotation: listed.rotations,
    unexplained: listed.unexplained,
    foreign: listed.foreign,
  };
  for await (const record of findings.read()) {
    const list = listOf[record.kind];
    if (list && list.length < MAX_LISTED) list.push(record);
  }
  return listed;
}

/** @throws CliError with the exit code of what was found; an outflow without a proof comes first, because it is certain. */
function requireGood(report: AuditReport, events: EventMatches | null): void {
  const { counts, gaps, gapCount } = report;
  const slots = gaps.slice(0, 3).map(({ fromSlot, toSlot }) => `${fromSlot} to ${toSlot}`);
  const missing = `The history is incomplete in the slots ${slots.join(', ')}${gapCount > slots.length ? ' and others' : ''}. Ask a node that keeps more.`;
  if (!report.isExplained) {
    const hint = report.isComplete ? '' : ` ${missing}`;
    throw new CliError('ERR_UNEXPLAINED_OUTFLOW', `${counts.unexplained} outflows without a proof.${hint}`);
  }
  if (!report.isComplete) throw new CliError('ERR_HISTORY_INCOMPLETE', missing);
  if (events && events.unprovenCount > 0) {
    throw new CliError(
      'ERR_NOT_PROVEN',
      `${events.unprovenCount} of ${events.events} events are not proven in this period.`,
    );
  }
}

/** Amounts are decimal text of base units in JSON. */
function toJson(document: object): unknown {
  return JSON.parse(JSON.stringify(document, (_key, value) => (typeof value === 'bigint' ? value.toString() : value)));
}

const DAY_START = 'T00:00:00Z';
const DAY_END = 'T23:59:59Z';

/** A slot, a day, or a time with its zone. @param timeOfDay completes a day. */
function parseBound(text: string, timeOfDay: string): AuditBound {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}${timeOfDay}` : text;
  const isWhole = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(time);
  if (isWhole && Number.isFinite(Date.parse(time))) return time;
  throw new InvalidArgumentError('It must be a slot, a day like 2026-01-31, or a time like 2026-01-31T12:00:00Z.');
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (rate > 0 && rate <= 10_000) return rate;
  throw new InvalidArgumentError('It must be a number above 0, at most 10000.');
}
