import { fileURLToPath } from 'node:url';
import { type Batch, InitBatchRequest, type Pipeline } from '@flywheel/api';
import { firstParseIssue, groupDigits, pluralize, shorten } from '@flywheel/protocol';
import { createFlywheelClient, runBatch } from '@flywheel/sdk';
import type { Command } from 'commander';
import { type Context, type OptionalRpcUrlOption, optionalRpcUrl } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readRequestFile } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { addOptionalRpcUrlOption } from '../../options.ts';
import { createProgress, type Progress } from '../../progress.ts';
import { type BatchStep, showBatchProgress } from '../batch/batch-progress.ts';
import { createChainReader } from './chain-reader.ts';
import type { DemoCluster } from './local-service.ts';
import { createToken, fundProject, registerProject, TOKEN_DECIMALS } from './project.ts';
import { type DemoReport, describeDemo } from './summary.ts';
import { expectEffects, verify } from './verify.ts';

interface DemoCommandOptions extends OptionalRpcUrlOption {
  readonly file: string;
  readonly payer?: string;
}

const REWARDS_FILE = fileURLToPath(new URL('../../../../../examples/rewards.json', import.meta.url));

type DemoStep = BatchStep | 'start' | 'token' | 'register' | 'fund' | 'verify';

const STEPS: { readonly [Step in DemoStep]: string } = {
  start: 'Start database, cluster and service',
  token: 'Create a token',
  register: 'Register a project',
  fund: 'Fund vault and wallets',
  compile: 'Compile',
  setUp: 'Set up on chain',
  approve: 'Approve by both parties',
  execute: 'Execute',
  verify: 'Verify on chain',
};

/** `flywheel demo`: a batch from start to end on this machine, verified on chain without the service. */
export function addDemoCommand(program: Command, context: Context): void {
  const command = program
    .command('demo')
    .summary('run a batch from start to end and verify it on chain')
    .description(
      'Start a database, a local cluster and the service in a temporary directory; create a token, register a project and fund its vault; compile, approve and execute the pipelines of a file; and verify every burn, airdrop and proof on chain. Everything is removed at the end. Exits with 0 only if the verification passes.',
    )
    .option('--file <file>', 'init request as JSON', REWARDS_FILE);
  addOptionalRpcUrlOption(command, 'use the cluster there instead of a local one; it needs the Squads program')
    .option('--payer <file>', 'keypair file of a wallet with 4 SOL on that cluster; its faucet pays by default')
    .addHelpText('after', '\nExample:\n  flywheel demo --json | jq .verification.ok')
    .action(async ({ file, payer, ...options }: DemoCommandOptions) => {
      const { output, environment } = context;
      const rpcUrl = optionalRpcUrl(context, options);
      if (payer !== undefined && rpcUrl === undefined) {
        throw new CliError('ERR_USAGE', '--payer names a wallet of the cluster of --rpc-url, which is missing.');
      }
      const requestText = await readRequestFile(file);
      const progress = await createProgress(output, STEPS);
      const report = await interruptible((signal) => {
        signal.addEventListener('abort', () => progress.note(STOPPING), { once: true });
        return runDemo({ environment, cluster: { rpcUrl, payer }, requestText, progress, signal });
      }).finally(() => progress.close());
      const { batch, verification } = report;
      output.result({ batch, results: batch.executeResult ?? null, verification }, describeDemo(report, output.stdout));
      if (!verification.ok) throw new CliError('ERR_DEMO_FAILED', describeMismatches(verification.problems));
    });
}

/** A second Ctrl-C, of a person who sees nothing happen, would leave the temporary directory behind. */
const STOPPING = 'Stopping: everything that was started is removed, which takes some seconds.';

function describeMismatches(mismatches: readonly string[]): string {
  const more = mismatches.length - MAX_SHOWN_MISMATCHES;
  const lines = [
    ...mismatches.slice(0, MAX_SHOWN_MISMATCHES),
    ...(more > 0 ? [`${more} more; --json lists all.`] : []),
  ];
  return `The chain does not match the request.\n  ${lines.join('\n  ')}`;
}

const MAX_SHOWN_MISMATCHES = 5;

interface DemoOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cluster: DemoCluster;
  /** The init request, as JSON text. */
  readonly requestText: string;
  readonly progress: Progress<DemoStep>;
  readonly signal: AbortSignal;
}

/** Runs the demo in a temporary directory and removes everything that it started. */
async function runDemo({ environment, cluster, requestText, progress, signal }: DemoOptions): Promise<DemoReport> {
  const startedAtMs = Date.now();
  const pipelines = readPipelines(requestText);
  const expected = expectEffects(pipelines, TOKEN_DECIMALS);

  progress.begin('start');
  // Loaded on demand: the other commands start faster without the service.
  const { startLocalService } = await import('./local-service.ts');
  const service = await startLocalService(environment, cluster);
  try {
    signal.throwIfAborted();
    progress.finish('start', `Squads program: ${service.program}`);

    progress.begin('token');
    const token = await createToken(service.bank);
    progress.finish('token', shorten(token.mint));
    signal.throwIfAborted();

    progress.begin('register');
    const project = await registerProject(service, token, pipelines, expected);
    progress.finish('register', `vault ${shorten(project.vaultAddress)}`);
    signal.throwIfAborted();

    progress.begin('fund');
    const funded = await fundProject(service, project, expected);
    progress.finish('fund', `${groupDigits(funded.vaultTokens)} tokens, ${pluralize(funded.holders, 'holder')}`);
    signal.throwIfAborted();

    const chain = createChainReader(service.rpcUrl, project);
    const before = await chain.readState([...expected.airdrops.keys()]);
    const client = createFlywheelClient({ url: service.url, apiKey: project.apiKey });
    progress.begin('compile');
    const onProgress = showBatchProgress(progress);
    const { wallet, vaultAddress, mint: mintAddress } = project;
    const known = { rpcUrl: service.rpcUrl, vaultAddress, mintAddress };
    const batch = await runBatch(client, requestText, { wallet, verify: known, signal, onProgress });

    progress.begin('verify');
    const after = await chain.readState([...expected.airdrops.keys()]);
    const transactions = await chain.readTransactions(signaturesOf(batch));
    const verification = verify({ batch, expected, before, after, transactions });
    if (verification.ok) progress.finish('verify', `${pluralize(verification.proofs.length, 'proof')} recomputed`);
    return { batch, pipelines, verification, durationMs: Date.now() - startedAtMs };
  } finally {
    await service.stop();
  }
}

function readPipelines(requestText: string): readonly Pipeline[] {
  const request = InitBatchRequest.safeParse(JSON.parse(requestText));
  if (request.success) return request.data.pipelines;
  const { place, message } = firstParseIssue(request.error, 'the request');
  throw new CliError('ERR_FILE', `The file is not an init request: ${place}: ${message}.`);
}

function signaturesOf({ executeResult }: Batch): string[] {
  return executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
}
