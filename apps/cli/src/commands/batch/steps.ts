import { text } from 'node:stream/consumers';
import { type Batch, DEFAULT_WAIT_SECONDS, MAX_WAIT_SECONDS } from '@flywheel/api';
import { isFinal, signApproval } from '@flywheel/sdk';
import type { Address } from '@solana/kit';
import { type Command, Option } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readRequestFile, readWallet } from '../../files.ts';
import {
  addBatchArgument,
  addRequestArgument,
  addUrlOption,
  parseAddress,
  parseId,
  parseWholeNumber,
} from '../../options.ts';
import { toVisibleJson } from '../../terminal-text.ts';
import { describeBatch, requireNotFailed } from './describe-batch.ts';

interface InitOptions extends UrlOption {
  readonly idempotencyKey?: string;
}

/** `flywheel init FILE` prints the answer of init as it came. */
export function addInitCommand(program: Command, context: Context): void {
  const command = addRequestArgument(program.command('init'))
    .summary('compile pipelines into a batch to approve')
    .description('Send the init request in FILE and print the answer: the batch, and proposalApproveTx to sign.')
    .option('--idempotency-key <uuid>', 'the same key returns the same batch; default: a random key', parseId);
  addUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel init examples/rewards.json > batch.json')
    .action(async (file: string, { idempotencyKey = crypto.randomUUID(), ...options }: InitOptions) => {
      const { output } = context;
      const client = openClient(context, options);
      const requestText = await readRequestFile(file);
      // Without an answer the batch may exist: only this key finds it again.
      output.nameBatch({ batchId: null, idempotencyKey });
      output.note(`Idempotency key ${idempotencyKey}`);
      const answer = await client.initBatch(requestText, { idempotencyKey });
      output.result(answer, toVisibleJson(answer, 2));
    });
}

const MAX_INDEX = Number.MAX_SAFE_INTEGER;

interface SignOptions {
  readonly wallet: string;
  readonly multisig: Address;
  readonly batchIndex: number;
  readonly company?: Address;
  readonly skipVerification?: true;
}

/** `flywheel sign --wallet FILE [TX]` signs an approval without a network. */
export function addSignCommand(program: Command, { output }: Context): void {
  program
    .command('sign')
    .summary('sign an approval transaction with a wallet')
    .description(
      'Add the wallet’s signature to a proposalApproveTx, read from TX or stdin. Refuses any transaction that is not the vote on this one proposal. Needs no network, and so does not verify what the batch does: run does.',
    )
    .argument('[tx]', 'proposalApproveTx in base64; default: stdin')
    .requiredOption('--wallet <file>', 'keypair file (Solana CLI format)')
    .requiredOption('--multisig <address>', 'the project’s multisig, from your own records', parseAddress)
    .requiredOption(
      '--batch-index <number>',
      'batchIndex of the batch: flywheel status',
      parseWholeNumber(1, MAX_INDEX),
    )
    .addOption(
      new Option('--company <address>', 'the member that votes for the company, from your own records')
        .argParser(parseAddress)
        .conflicts('skipVerification'),
    )
    .option('--skip-verification', 'instead of --company: accept whichever member the transaction names')
    .addHelpText(
      'after',
      '\nExample:\n  jq -r .proposalApproveTx batch.json | flywheel sign --wallet wallet.json --multisig 7Fq2… --company 9xQe… --batch-index 12',
    )
    .action(async (transaction: string | undefined, options: SignOptions) => {
      const wallet = await readWallet(options.wallet);
      const { multisig, batchIndex, company, skipVerification } = options;
      if (company === undefined && !skipVerification) {
        throw new CliError('ERR_USAGE', 'Pass --company with the company’s address, which register printed.');
      }
      const signedTx = await signApproval((transaction ?? (await readStdin())).trim(), wallet, {
        ...{ multisig, batchIndex: String(batchIndex) },
        company: company ?? 'trust-service',
      });
      output.result({ signedTx }, signedTx);
    });
}

async function readStdin(): Promise<string> {
  if (!process.stdin.isTTY) return text(process.stdin);
  throw new CliError('ERR_USAGE', 'Nothing to sign. Pass proposalApproveTx as an argument or on stdin.');
}

interface ExecuteOptions extends UrlOption {
  readonly wait?: number;
}

/** `flywheel execute BATCH_ID SIGNED_TX [--wait SECONDS]` */
export function addExecuteCommand(program: Command, context: Context): void {
  const command = addBatchArgument(program.command('execute'))
    .summary('execute an approved batch')
    .description(
      'Submit the signed approval and execute the batch. Safe to repeat: a batch is never executed twice. Exits with 3 if the batch failed, and with 4 if it has not ended in time.',
    )
    .argument('<signed-tx>', 'output of flywheel sign')
    .option(
      '--wait <seconds>',
      `how long to wait for the result, 0 to ${MAX_WAIT_SECONDS}; default: ${DEFAULT_WAIT_SECONDS}`,
      parseWholeNumber(0, MAX_WAIT_SECONDS),
    );
  addUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel execute 0198a3c2-… "$(cat signed.txt)"')
    .action(async (batchId: string, signedTx: string, { wait = DEFAULT_WAIT_SECONDS, ...options }: ExecuteOptions) => {
      const { output } = context;
      output.nameBatch({ batchId, idempotencyKey: null });
      const client = openClient(context, options);
      const answer = await client.executeBatch({ batchId, signedTx }, { waitSeconds: wait });
      const batch = await client.getBatch(batchId);
      output.result(answer, describeBatch(batch, output.stdout));
      requireNotFailed(batch);
      requireEnded(batch, wait);
    });
}

/**
 * Requires that an execution has ended, or that the wallet has nothing more to do.
 * @throws CliError ERR_TIMED_OUT
 */
function requireEnded({ id, status, awaitsCompany }: Batch, waitSeconds: number): void {
  if (isFinal({ status }) || awaitsCompany) return;
  throw new CliError(
    'ERR_TIMED_OUT',
    `Batch ${id} is still ${status} after ${waitSeconds} s. Its execution continues. Run the same command again to wait for its end: nothing is executed twice.`,
  );
}
