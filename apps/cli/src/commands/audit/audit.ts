import { createReadStream } from 'node:fs';
import { isOffCurveAddress } from '@flywheel/protocol';
import { type AuditBound, type AuditReport, type AuditState, auditVault } from '@flywheel/sdk';
import {
  type AuditEvents,
  auditDocument,
  auditProgress,
  auditVerdict,
  describeMissing,
  type EventMatches,
  listFindings,
  matchEvents,
  parseAuditBound,
  readAuditEvents,
} from '@flywheel/sdk/audit-findings';
import { LOCAL_RPC_URL } from '@flywheel/solana-rpc';
import type { Address } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import { type Context, displayUrl, type RpcUrlOption, readRpcUrls } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { requireWritable } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { decodeUtf8, splitLines } from '../../lines.ts';
import { parseAddress } from '../../options.ts';
import { createProgressBar } from '../../progress.ts';
import { describeAudit } from './describe.ts';
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

/** `flywheel audit`: what a vault is found to have done in a period, from the chain alone. */
export function addAuditCommand(program: Command, context: Context): void {
  program
    .command('audit')
    .argument('<vault>', 'address of the vault, from the project', parseVault)
    .summary('audit a vault over a period, from the chain alone')
    .description(
      'Audit a vault from the chain alone: pipelines and their proofs, what was burned, airdropped, withdrawn and deposited, changes of the multisig, and outflows without a proof. No service is asked. The balances of every account found must be continuous. Exits with 3 for an outflow or an event without a proof, with 4 for a history with gaps.',
    )
    .option(
      '--multisig <address>',
      'multisig of the vault; needed only while the vault has executed nothing',
      parseAddress,
    )
    .option('--from <bound>', 'first slot, day (UTC) or time; default: the beginning', (text) =>
      parseBound(text, 'from'),
    )
    .option('--to <bound>', 'last slot, day (UTC) or time; default: the newest slot', (text) => parseBound(text, 'to'))
    .option('--events <file>', 'events that should be proven: {"type": …, "payload": …}, one per line')
    .option('--csv <file>', 'write every finding there, one per line')
    .option(
      '--state <file>',
      'keep the state there while the audit runs; after an interruption, run the same command again to resume',
    )
    .option('--requests-per-second <number>', 'most requests to the node; default: no limit', parseRate)
    .option('--confirmed', 'also count what is confirmed and not yet finalized')
    .option('--rpc-url <url>', `node to read from, or several; default: SOLANA_RPC_URL or ${LOCAL_RPC_URL}`)
    .addHelpText(
      'after',
      '\nExample:\n  flywheel audit 7Fq2… --from 2026-01-01 --to 2026-03-31 --csv audit.csv --state audit.state',
    )
    .action((vault: Address, options: AuditCommandOptions) => audit(context, vault, options));
}

async function audit(context: Context, vault: Address, options: AuditCommandOptions): Promise<void> {
  const { output } = context;
  requireOrder(options);
  const rpcUrls = readRpcUrls(context, options);
  if (options.csv !== undefined) requireWritable(options.csv);
  const events = options.events === undefined ? null : await readEvents(options.events);
  const findings = await openFindings(options.state ?? null);
  try {
    if (findings.state) requireSameQuery(findings.state, vault, options);
    const nextStep =
      options.state === undefined ? '--state keeps the progress.' : 'Run the same command again to resume.';
    const report = await interruptible(
      (signal) => scan(context, { vault, rpcUrls, options, findings, signal }),
      nextStep,
    );
    if (options.csv !== undefined) await writeFindings(options.csv, findings);
    const listed = await listFindings(findings.read());
    const matches = events && (await matchEvents(events, findings.read()));
    const found = { listed, events: matches, node: rpcUrls.map(displayUrl).join(', ') };
    output.result(auditDocument(report, found), describeAudit(report, { ...found, stream: output.stdout }));
    await findings.remove();
    requireGood(report, matches);
  } finally {
    await findings.close();
  }
}

/** @throws CliError `ERR_USAGE` if the period ends before it begins. A slot and a time are compared by the audit itself. */
function requireOrder({ from, to }: AuditCommandOptions): void {
  if (from === undefined || to === undefined || typeof from !== typeof to) return;
  const at = (bound: AuditBound) => (typeof bound === 'number' ? bound : Date.parse(bound));
  if (at(from) > at(to))
    throw new CliError('ERR_USAGE', `The period cannot begin at ${from} and end at ${to}: --from is after --to.`);
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
  } catch (error) {
    if (error instanceof RangeError) throw new CliError('ERR_USAGE', error.message, { cause: error });
    throw error;
  } finally {
    bar.close();
  }
}

/** A line of a log for each thousand transactions: the end of a history is not known before it is reached. */
function showProgress(show: (fraction: number, text: string) => void): (state: AuditState) => void {
  return (state) => {
    const read = Math.floor(state.tally.read / PROGRESS_STEP) * PROGRESS_STEP;
    if (read > 0) show(auditProgress(state), `${read} transactions read, back to slot ${state.slot}`);
  };
}

const PROGRESS_STEP = 1_000;

/** @throws CliError `ERR_USAGE` if the state is that of another vault, period or commitment. */
function requireSameQuery(
  { period, vault, commitment }: AuditState,
  asked: Address,
  { from, to, confirmed = false }: AuditCommandOptions,
): void {
  const isSamePeriod = period.from === (from ?? null) && period.to === (to ?? null);
  const isConfirmed = commitment === 'confirmed';
  if (vault === asked && isSamePeriod && isConfirmed === confirmed) return;
  throw new CliError(
    'ERR_USAGE',
    `The state is of the audit of ${vault} from ${period.from ?? 'the beginning'} to ${period.to ?? 'the newest slot'}, ${isConfirmed ? 'with' : 'without'} --confirmed. Pass the same vault, period and commitment, or another --state.`,
  );
}

/** @throws CliError with the exit code of what was found; an outflow without a proof comes first, because it is certain. */
function requireGood(report: AuditReport, events: EventMatches | null): void {
  const verdict = auditVerdict(report, events);
  switch (verdict) {
    case 'unexplained': {
      const hint = report.isComplete ? '' : ` ${describeMissing(report)}`;
      throw new CliError('ERR_UNEXPLAINED_OUTFLOW', `${report.counts.unexplained} outflows without a proof.${hint}`);
    }
    case 'incomplete':
      throw new CliError('ERR_HISTORY_INCOMPLETE', describeMissing(report));
    case 'unproven': {
      const message = `${events?.unprovenCount} of ${events?.events} events are not proven in this period.`;
      throw new CliError('ERR_NOT_PROVEN', message);
    }
    case 'explained':
      return;
    default:
      verdict satisfies never;
  }
}

/** Parses the address of a vault. A multisig program derives it, so that it is off the Ed25519 curve and no key signs for it. */
function parseVault(text: string): Address {
  const vault = parseAddress(text);
  if (isOffCurveAddress(vault)) return vault;
  throw new InvalidArgumentError(
    'It is the address of a wallet, not of a vault; flywheel project show prints the vault.',
  );
}

function parseBound(text: string, end: 'from' | 'to'): AuditBound {
  const bound = parseAuditBound(text, end);
  if (bound !== null) return bound;
  throw new InvalidArgumentError('It must be a slot, a day like 2026-01-31, or a time like 2026-01-31T12:00:00Z.');
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (rate > 0 && rate <= 10_000) return rate;
  throw new InvalidArgumentError('It must be a number above 0, at most 10000.');
}

/**
 * Reads a file of events, as `readAuditEvents`.
 * @throws CliError `ERR_FILE` with the number of a line that is not an event.
 */
async function readEvents(path: string): Promise<AuditEvents> {
  const read = await readAuditEvents(textLines(path)).catch((cause: unknown) => {
    const message = `Cannot read ${path}. Expected events, one {"type": …, "payload": …} a line.`;
    throw new CliError('ERR_FILE', message, { cause });
  });
  if ('events' in read) return read.events;
  const place = `${path}:${read.invalidLine}`;
  throw new CliError('ERR_FILE', `${place} is not an event. Expected {"type": "…", "payload": "…"}.`);
}

async function* textLines(path: string): AsyncGenerator<string> {
  for await (const line of splitLines(createReadStream(path))) yield decodeUtf8(line);
}
