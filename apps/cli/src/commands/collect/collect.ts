import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { CONSOLE_OPERATIONS, type ProjectSummary } from '@flywheel/api';
import { messageOf, pluralize, toBaseUnits } from '@flywheel/protocol';
import { isFlywheelError } from '@flywheel/sdk';
import {
  type Collector,
  type CollectorMetrics,
  type CollectorStore,
  createCollector,
  endSignedBatches,
  type ItemState,
  type ItemStatus,
} from '@flywheel/sdk/collector';
import { openSqliteStore } from '@flywheel/sdk/collector/sqlite';
import type { Command } from 'commander';
import { type Context, openClient, type RpcUrlOption, requireApiKey, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { signInEverywhere } from '../../every-shard.ts';
import { OWNER_ONLY, readWallet, writeWhole } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import {
  addRpcUrlOption,
  addUrlOption,
  addVaultTrustOption,
  addWalletOption,
  parsePort,
  parseTokens,
  parseWholeNumber,
} from '../../options.ts';
import type { Output } from '../../output.ts';
import { createProgressBar, type ProgressBar } from '../../progress.ts';
import { stateDirectory } from '../../run-state.ts';
import { toVisibleJson } from '../../terminal-text.ts';
import { openVerification } from '../../verify-options.ts';
import { findProjectOfKey } from '../project/sign-in.ts';
import { describeSigned, noteAlarm, showMetrics } from './display.ts';
import { invalid, movedBaseUnits, parseEvent } from './event.ts';
import { AnswerError, type EventServer, eventDocument, openEventServer } from './event-server.ts';
import { openHourlyCaps } from './hourly-caps.ts';
import { type InvalidLine, readLines } from './read-lines.ts';

interface CollectOptions extends UrlOption, RpcUrlOption {
  readonly wallet: string;
  readonly trust: readonly string[];
  readonly listen?: number;
  readonly hourlyTokens?: string;
  readonly hourlyEvents: number;
  readonly store?: string;
  readonly maxAge: number;
  readonly mergeAirdrops?: boolean;
  readonly serviceRestored?: boolean;
  readonly requeue: readonly string[];
  readonly drop: readonly string[];
}

/** `flywheel collect`: pays events from standard input, or from `POST /events`, each once for its id. */
export function addCollectCommand(program: Command, context: Context): void {
  const add = (text: string, previous: readonly string[]) => [...previous, text];
  const command = program
    .command('collect')
    .summary('pay events as they happen, each once for its id')
    .description(
      'Pay events: {"id": …, "type": …, "payload": …, "actions": […]}, one per line on stdin, or with --listen as POST /events on this machine. Each is stored before it counts, and paid once for its id, however often it is sent and wherever the command stops. Every result is a line of JSON on stdout. Ends when all events of stdin are paid; SIGTERM and Ctrl-C stop it after the present step, and the next start continues. Exits with 3 if a line is invalid or an event was quarantined.',
    )
    .option('--listen <port>', 'take events by POST /events on 127.0.0.1; 0 takes a free port', parsePort)
    .option('--hourly-tokens <amount>', 'with --listen: whole tokens that an hour may burn and airdrop', parseTokens)
    .option(
      '--hourly-events <number>',
      'with --listen: events that an hour may bring',
      parseWholeNumber(1, 1_000_000),
      10_000,
    )
    .option('--store <file>', 'SQLite file of the events; default: one per project in the state directory')
    .option('--max-age <seconds>', 'time that an event waits for its batch to fill', parseWholeNumber(0, 3_600), 10)
    .option('--merge-airdrops', 'pay airdrops of one type to one recipient with one transfer of their sum')
    .option(
      '--service-restored',
      'after the service was restored from a backup: read on chain what the batches have paid that it has forgotten',
    )
    .option('--requeue <id>', 'make a quarantined event pending again; repeat for more', add, [])
    .option('--drop <id>', 'decide that an event is never paid; repeat for more', add, []);
  addVaultTrustOption(addWalletOption(command));
  addUrlOption(addRpcUrlOption(command))
    .addHelpText(
      'after',
      '\nExample:\n  tail -F events.ndjson | flywheel collect --wallet wallet.json\n  flywheel collect --wallet wallet.json --listen 4100 --hourly-tokens 500',
    )
    .action(async (options: CollectOptions) => {
      const bar = await createProgressBar(context.output);
      await interruptible((signal) => collectEvents(context, { options, bar, signal }), RESUME).finally(() =>
        bar.close(),
      );
    });
}

const RESUME = 'Accepted events are stored: run the same command again to pay those that are pending.';

interface CollectRun {
  readonly options: CollectOptions;
  readonly bar: ProgressBar;
  readonly signal: AbortSignal;
}

async function collectEvents(context: Context, { options, bar, signal }: CollectRun): Promise<void> {
  const { output, stdin } = context;
  requireInput(options, stdin);
  if (options.store !== undefined) requireDirectory(options.store);
  const client = openClient(context, options);
  const wallet = await readWallet(options.wallet);
  const console = await signInEverywhere(context, options, wallet);
  const project = await findProjectOfKey(console, requireApiKey(context));
  const { verify, keep } = await openVerification(context, { project, wallet: wallet.address }, options);
  const { isLocal } = await console.call(CONSOLE_OPERATIONS.getEnvironment, {});
  signal.throwIfAborted();

  const file = options.store ?? join(stateDirectory(context), 'collect', `${project.id}.db`);
  // Before the store: a start that cannot listen must not replace the command that pays from it.
  const hourlyBaseUnits = parseHourlyTokens(options, project);
  await using server = options.listen === undefined ? null : await openEventServer(options.listen);
  const store = await openStore(file, { createDirectory: options.store === undefined });
  if (options.serviceRestored) {
    const { rpcUrl } = verify;
    for (const batch of await endSignedBatches(store, { rpcUrl, signal })) bar.note(describeSigned(batch));
  }
  const collector = await createCollector({
    client,
    store,
    approval: {
      wallet,
      verify,
      onProgress: (event) => {
        for (const news of keep(event)) bar.note(news);
      },
    },
    // Results that no one reads stay due, for a run that prints them.
    ...(!output.json && { onPaid: writeResult(output), onRejected: writeResult(output) }),
    onAlarm: (alarm) => noteAlarm(bar, alarm),
    maxAgeMs: options.maxAge * 1_000,
    mergeAirdrops: options.mergeAirdrops ?? false,
    isLocalCluster: isLocal,
  });
  const stop = () => void collector.stop();
  signal.addEventListener('abort', stop, { once: true });
  collector.stopped.signal.addEventListener('abort', () => stdin.destroy(), { once: true });
  // A signal that was aborted while the collector was created calls no listener.
  if (signal.aborted) stop();
  const closeDisplay = showMetrics(collector, bar, output);
  const invalidLines: InvalidLine[] = [];
  let invalidCount = 0;
  try {
    await decide(collector, options, bar);
    if (server === null) {
      await readLines(stdin, collector, (line) => {
        invalidCount += 1;
        // Input may have no end: lines are kept only for a result that lists them.
        if (output.json) invalidLines.push(line);
        else output.stdout.write(`${toVisibleJson({ ...line, state: 'invalid' })}\n`);
      });
      await collector.idle();
    } else {
      await serveEvents({ server, collector, store, project, file, note: bar.note }, { ...options, hourlyBaseUnits });
    }
  } catch (error) {
    // After the end of the collector its own error says why.
    if (!collector.stopped.signal.aborted) throw error;
  } finally {
    closeDisplay();
    await collector.stop();
  }
  finish(output, { collector, bar, invalidLines, file });
  const isIncomplete = options.listen === undefined || collector.metrics().pending > 0;
  if (signal.aborted && isIncomplete) throw signal.reason;
  requireNothingLeft(collector.metrics(), invalidCount);
}

function requireInput({ listen, hourlyTokens }: CollectOptions, stdin: Readable): void {
  if (listen !== undefined && hourlyTokens === undefined) {
    throw new CliError(
      'ERR_USAGE',
      '--listen needs --hourly-tokens: the most that whoever has the token can spend in an hour.',
    );
  }
  if (listen === undefined && 'isTTY' in stdin && stdin.isTTY) {
    throw new CliError('ERR_USAGE', 'Nothing to pay. Pipe events to stdin, one per line, or pass --listen.');
  }
}

/** @throws CliError `ERR_USAGE` for more decimals than the token has. */
function parseHourlyTokens({ hourlyTokens = '0' }: CollectOptions, { token }: ProjectSummary): bigint {
  const baseUnits = toBaseUnits(hourlyTokens, token.decimals);
  if (baseUnits !== null) return baseUnits;
  throw new CliError(
    'ERR_USAGE',
    `--hourly-tokens ${hourlyTokens} has more than the token’s ${token.decimals} decimals.`,
  );
}

/** @throws CliError `ERR_FILE` for a store in a directory that does not exist: a typo would make an empty store. */
function requireDirectory(file: string): void {
  const directory = dirname(file);
  if (existsSync(directory)) return;
  throw new CliError(
    'ERR_FILE',
    `The directory ${directory} does not exist. Create it, or pass another file as --store.`,
  );
}

async function openStore(
  file: string,
  { createDirectory }: { readonly createDirectory: boolean },
): Promise<CollectorStore> {
  try {
    if (createDirectory) mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return await openSqliteStore(file);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new CliError('ERR_FILE', `The events cannot be stored in ${file}: ${reason}. Pass another file as --store.`, {
      cause,
    });
  }
}

/** Moves the events that `--requeue` and `--drop` name. One that an earlier run of the same line has moved stays as it is. */
async function decide(
  collector: Collector,
  { requeue, drop }: Pick<CollectOptions, 'requeue' | 'drop'>,
  bar: ProgressBar,
): Promise<void> {
  const isDone = async (id: string, results: readonly ItemState[]) => {
    const state = (await collector.status(id))?.state;
    if (state === undefined || !results.includes(state)) return false;
    bar.note(`Event ${id} is ${state} already.`);
    return true;
  };
  for (const id of requeue) if (!(await isDone(id, ['pending', 'paid']))) await collector.requeue(id);
  for (const id of drop) if (!(await isDone(id, ['dropped']))) await collector.drop(id);
}

/** Resolves when the line is written, so that a result counts as reported only then. */
function writeResult({ stdout }: Output): (item: ItemStatus) => Promise<void> {
  return (item) =>
    new Promise((resolve, reject) => {
      stdout.write(`${toVisibleJson(eventDocument(item))}\n`, (error) => (error ? reject(error) : resolve()));
    });
}

interface Serving {
  readonly server: EventServer;
  readonly collector: Collector;
  readonly store: CollectorStore;
  readonly project: ProjectSummary;
  readonly file: string;
  readonly note: (text: string) => void;
}

interface ServingOptions extends Pick<CollectOptions, 'hourlyTokens' | 'hourlyEvents'> {
  readonly hourlyBaseUnits: bigint;
}

/** Takes events until the collector stops. */
async function serveEvents(
  { server, collector, store, project, file, note }: Serving,
  { hourlyTokens, hourlyBaseUnits: baseUnits, hourlyEvents }: ServingOptions,
): Promise<void> {
  const { decimals } = project.token;
  const caps = await openHourlyCaps(store, { events: hourlyEvents, baseUnits }, { decimals });
  const token = randomBytes(32).toString('base64url');
  const tokenFile = `${file}.token`;
  writeWhole(tokenFile, token, OWNER_ONLY);
  server.serve({
    token,
    status: (id) => collector.status(id),
    accept: async (body, signal) => {
      const event = parseEvent(body);
      if ((await collector.status(event.id)) !== null) return collector.collect(event, { signal });
      const moved = movedBaseUnits(event, decimals);
      if (moved === null) {
        throw invalid('actions', `Item ${event.id} has an amount that a token with ${decimals} decimals cannot have.`);
      }
      if (moved > baseUnits)
        throw invalid('actions', `Item ${event.id} moves more than the ${hourlyTokens} tokens of an hour.`);
      const giveBack = caps.take(moved);
      if (giveBack === null) {
        const message = `The hour has brought ${hourlyTokens} tokens or ${hourlyEvents} events. Send the event again later.`;
        throw new AnswerError(429, 'ERR_HOURLY_CAP', message);
      }
      return collector.collect(event, { signal }).catch((error: unknown) => {
        // Refused, or given up while it waited: nothing is stored. After another error it may be.
        if (isFlywheelError(error) || error === signal.reason) giveBack();
        throw error;
      });
    },
  });
  note(`Listening at http://127.0.0.1:${server.port}/events. The bearer token is in ${tokenFile}.`);
  const { signal } = collector.stopped;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await server.close();
}

interface Ending {
  readonly collector: Collector;
  readonly bar: ProgressBar;
  readonly invalidLines: readonly InvalidLine[];
  readonly file: string;
}

/** @throws the error that has stopped the collector. */
function finish(output: Output, { collector, bar, invalidLines, file }: Ending): void {
  const { accepted, paid, pending, quarantined, dropped } = collector.metrics();
  bar.close();
  if (output.json)
    output.result({ accepted, paid, pending, quarantined, dropped, invalid: invalidLines, store: file }, '');
  const { error } = collector.stopped;
  if (error !== null)
    throw isFlywheelError(error)
      ? error
      : new CliError('ERR_EVENTS_LEFT', `${error.message} ${RESUME}`, { cause: error, exitCode: 1 });
}

/** @throws CliError `ERR_EVENTS_LEFT` */
function requireNothingLeft({ quarantined }: CollectorMetrics, invalidCount: number): void {
  if (quarantined === 0 && invalidCount === 0) return;
  const left = [
    ...(quarantined > 0
      ? [`${pluralize(quarantined, 'event is', 'events are')} quarantined: decide with --requeue ID or --drop ID.`]
      : []),
    ...(invalidCount > 0 ? [`${pluralize(invalidCount, 'line is', 'lines are')} invalid and not accepted.`] : []),
  ];
  throw new CliError('ERR_EVENTS_LEFT', left.join(' '));
}
