import { BATCH_OPERATIONS, type BatchDetail, type BatchProgress } from '@flywheel/api';
import { expectedOfMultisig, isErrorCode, isFinal, type VerificationResult, verifyAndSign } from '@flywheel/sdk';
import { sleep } from '@flywheel/solana-rpc';
import type { KeyPairSigner } from '@solana/kit';
import type { Command } from 'commander';
import { confirmSigning } from '../../confirm.ts';
import type { ConsoleClient } from '../../console-client.ts';
import { type Context, type RpcUrlOption, trustedRpcUrl } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';
import { interruptible } from '../../interrupt.ts';
import { addRpcUrlOption, addVaultTrustOption, parseId } from '../../options.ts';
import { openPins, type PinFile, type TrustOption, type VerifiedBatch } from '../../pins.ts';
import { addContentOption, readProposal, requireContent } from '../../proposal.ts';
import { describeBatch, requireNotFailed } from '../batch/describe-batch.ts';
import { addProjectOptions, type ProjectOptions, signIn } from '../project/sign-in.ts';

export interface WalletOptions extends ProjectOptions, RpcUrlOption, TrustOption {}

/** Adds the options of a command that signs an approval with the project's wallet. */
export function addWalletOptions(command: Command): Command {
  return addRpcUrlOption(addVaultTrustOption(addProjectOptions(command)));
}

/** The project's wallet, signed in, and the holder's own node and records. */
export interface WalletSession {
  readonly wallet: KeyPairSigner;
  readonly console: ConsoleClient;
  readonly projectId: string;
  readonly rpcUrl: string;
  readonly pins: PinFile;
  readonly trust: readonly string[];
}

export async function openWallet(context: Context, options: WalletOptions): Promise<WalletSession> {
  const wallet = await readWallet(options.wallet);
  const rpcUrl = await trustedRpcUrl(context, options);
  const pins = await openPins(context, options, rpcUrl);
  return { wallet, rpcUrl, pins, trust: options.trust ?? [], ...(await signIn(context, options)) };
}

interface ApproveOptions extends WalletOptions {
  readonly content?: string;
}

/** `flywheel approve BATCH_ID`: the wallet's approval of any open batch, also of withdrawals and rotations. */
export function addApproveCommand(program: Command, context: Context): void {
  addContentOption(addWalletOptions(program.command('approve')))
    .summary('approve an open batch with the project’s wallet')
    .description(
      'Read from the chain what an open batch does, show it, verify it, sign the approval and submit it: also of a withdrawal, of a replacement that the company has requested, and of a batch that the console has created. The batch is then executed, or waits for a person of the company. Exits with 3 if it failed.',
    )
    .argument('<batch-id>', 'id of the batch', parseId)
    .addHelpText('after', '\nExample:\n  flywheel approve 0198a3c2-… --wallet wallet.json')
    .action(async (batchId: string, options: ApproveOptions) => {
      const session = await openWallet(context, options);
      await approveBatch(context, session, { batchId, content: options.content });
    });
}

export interface BatchToApprove {
  readonly batchId: string;
  /** The content that `--content` has confirmed. */
  readonly content?: string | undefined;
  /** Key with which this command has created the batch, so that it finds the batch again. */
  readonly idempotencyKey?: string;
  /** True if an option has confirmed what `requireAsked` compares. */
  readonly isConfirmed?: boolean;
  /** Compares the batch with what was asked for. @throws CliError if it is another one. */
  readonly requireAsked?: (detail: BatchDetail) => void;
  /** Called with each verified multisig, to keep more than the wallet's own record. @returns notes. */
  readonly keep?: (verified: VerifiedBatch) => readonly string[];
}

/**
 * Approves a batch: waits until it is set up, shows what the chain holds, has it confirmed, verifies and signs it, submits the
 * approval, and follows the batch until it ends or waits for a person of the company. A batch that is approved already is only
 * followed.
 * @throws CliError if the batch has failed, or was given back to the wallet with an issue to resolve.
 */
export async function approveBatch(context: Context, session: WalletSession, asked: BatchToApprove): Promise<void> {
  const { output } = context;
  const { batchId, idempotencyKey = null } = asked;
  output.nameBatch({ batchId, idempotencyKey });
  const after = await interruptible(async (signal) => {
    const setUp = await follow(context, session, batchId, ({ waitsFor }) => waitsFor === 'setup', signal);
    if (setUp.waitsFor === 'wallet') await signAndSubmit(context, session, asked, signal);
    return follow(context, session, batchId, isExecuting, signal);
  }, `Continue with flywheel approve ${batchId}.`);
  output.result(after, describeBatch(after.batch, output.stdout));
  requireNotFailed(after.batch);
  requireNotReleased(after);
}

function isExecuting({ waitsFor, failure }: BatchProgress): boolean {
  return waitsFor === 'execution' || (waitsFor === 'wallet' && failure === undefined);
}

/** @throws CliError with the code of the issue, if the batch waits for the wallet again because of one. */
function requireNotReleased({ waitsFor, failure, batch }: BatchProgress): void {
  if (waitsFor !== 'wallet' || !failure) return;
  const { code = '', message, remedy } = failure;
  const text = `${message} ${remedy} Continue with flywheel approve ${batch.id}.`;
  throw new CliError(isErrorCode(code) ? code : 'ERR_BATCH_EXECUTE_FAILED', text);
}

/** A state is asked for once a second: the service allows ten requests a second. */
const POLL_INTERVAL_MS = 1_000;

/** Follows a batch while it is under way, and says once what holds it up. */
async function follow(
  { output }: Context,
  { console, projectId }: WalletSession,
  batchId: string,
  isUnderWay: (progress: BatchProgress) => boolean,
  signal: AbortSignal,
): Promise<BatchProgress> {
  for (let shown = ''; ; ) {
    const progress = await console.call(BATCH_OPERATIONS.getBatchProgress, { params: { projectId, batchId } });
    const { batch, failure } = progress;
    if (isFinal(batch) || !isUnderWay(progress)) return progress;
    const holdUp = failure === undefined ? '' : `Held up: ${failure.message} ${failure.remedy}`;
    if (holdUp !== shown && holdUp !== '') output.note(holdUp);
    shown = holdUp;
    await sleep(POLL_INTERVAL_MS, signal);
  }
}

async function signAndSubmit(
  context: Context,
  { wallet, console, projectId, rpcUrl, pins, trust }: WalletSession,
  { batchId, content, idempotencyKey, isConfirmed = false, requireAsked, keep }: BatchToApprove,
  signal: AbortSignal,
): Promise<void> {
  const { output } = context;
  const params = { projectId, batchId };
  const detail = await console.call(BATCH_OPERATIONS.getProjectBatch, { params });
  requireAsked?.(detail);
  const { batch, pipelines, kind } = detail;
  const { multisig, batchIndex } = batch;
  const pin = await pins.findMultisig(wallet.address, batch, trust);
  const proposal = await readProposal(rpcUrl, { multisig, batchIndex, isRotation: kind === 'rotation' }, signal);
  const { hash, facts, issues } = proposal;
  requireContent(proposal, content);
  if (issues.length > 0) throw new CliError('ERR_CLUSTER', `Nothing was signed: ${issues.join(' ')}`);
  await confirmSigning(context, facts, {
    question: `Sign and approve batch ${batchIndex}?`,
    isConfirmed: isConfirmed || content !== undefined,
    // The command with another key would create another batch.
    option: idempotencyKey === undefined ? `--content ${hash}` : `--yes --idempotency-key ${idempotencyKey}`,
    signal,
  });
  const { proposalApproveTx } = await console.call(BATCH_OPERATIONS.getApproval, { params });
  const claimed = { batch: { ...batch, pipelines }, proposalApproveTx };
  const input = { wallet, ...claimed, ...(pin && { expect: expectedOfMultisig(pin) }) };
  let verification: VerificationResult | null = null;
  const signedTx = await verifyAndSign(rpcUrl, input, {
    signal,
    onVerification: (result) => {
      verification = result;
    },
  });
  if (verification !== null) {
    const verified = { batch, verification };
    for (const note of [...pins.keepVerified(wallet.address, verified), ...(keep?.(verified) ?? [])]) output.note(note);
  }
  await console.call(BATCH_OPERATIONS.executeProjectBatch, { params, body: { signedTx } });
}
