import { type Batch, InitBatchRequest, type Pipeline } from '@flywheel/api';
import { createFlywheelClient, runBatch } from '@flywheel/sdk';
import { CliError } from '../../errors.ts';
import type { Progress } from '../../progress.ts';
import { count, shorten } from '../../words.ts';
import { showBatchProgress } from '../batch/batch-progress.ts';
import { createChainReader } from './chain-reader.ts';
import { expectEffects } from './expectation.ts';
import { startLocalService } from './local-service.ts';
import { createToken, fundProject, registerProject, TOKEN_DECIMALS } from './project.ts';
import { type Verification, verify } from './verify.ts';

export type DemoStep = 'start' | 'token' | 'register' | 'fund' | 'compile' | 'setUp' | 'approve' | 'execute' | 'verify';

export interface DemoOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The init request, as JSON text. */
  readonly requestText: string;
  readonly progress: Progress<DemoStep>;
  readonly signal: AbortSignal;
}

export interface DemoReport {
  readonly batch: Batch;
  readonly pipelines: readonly Pipeline[];
  readonly verification: Verification;
  /** Which Squads program the cluster ran. */
  readonly program: string;
  readonly durationMs: number;
}

/** The main job from an empty directory to tokens moved, and the proof that they moved. Stops all that it started. */
export async function runDemo({ environment, requestText, progress, signal }: DemoOptions): Promise<DemoReport> {
  const startedAtMs = Date.now();
  const pipelines = readPipelines(requestText);
  const expected = await expectEffects(pipelines, TOKEN_DECIMALS);

  progress.begin('start');
  const service = await startLocalService(environment);
  try {
    signal.throwIfAborted();
    progress.finish('start', `Squads program: ${service.program}`);

    progress.begin('token');
    const token = await createToken(service.rpcUrl);
    progress.finish('token', shorten(token.mint));
    signal.throwIfAborted();

    progress.begin('register');
    const project = await registerProject(service, token, pipelines, expected);
    progress.finish('register', `vault ${shorten(project.vaultAddress)}`);
    signal.throwIfAborted();

    progress.begin('fund');
    const funded = await fundProject(service.rpcUrl, project, expected);
    progress.finish('fund', `${funded.vaultTokens} tokens, ${count(funded.holders, 'holder')}`);
    signal.throwIfAborted();

    const chain = createChainReader(service.rpcUrl, project);
    const before = await chain.readState([...expected.airdrops.keys()]);
    const client = createFlywheelClient({ url: service.url, apiKey: project.apiKey });
    progress.begin('compile');
    const onProgress = showBatchProgress(progress);
    const batch = await runBatch(client, requestText, { wallet: project.wallet, signal, onProgress });

    progress.begin('verify');
    const after = await chain.readState([...expected.airdrops.keys()]);
    const transactions = await chain.readTransactions(signaturesOf(batch));
    const verification = verify({ batch, expected, before, after, transactions });
    if (verification.ok) progress.finish('verify', `${count(verification.proofs.length, 'proof')} recomputed`);
    return { batch, pipelines, verification, program: service.program, durationMs: Date.now() - startedAtMs };
  } finally {
    await service.stop();
  }
}

function readPipelines(requestText: string): readonly Pipeline[] {
  const request = InitBatchRequest.safeParse(JSON.parse(requestText));
  if (request.success) return request.data.pipelines;
  const [issue] = request.error.issues;
  throw new CliError('ERR_FILE', `The file is no init request: ${issue?.path.join('.')}: ${issue?.message}.`);
}

function signaturesOf({ executeResult }: Batch): string[] {
  return executeResult?.successfulExecutions.flatMap(({ txHashes }) => txHashes) ?? [];
}
