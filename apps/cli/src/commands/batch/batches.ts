import type { Batch } from '@flywheel/api';
import { BATCH_OPERATIONS, BatchStatus } from '@flywheel/api';
import {
  type CastCancelOptions,
  castCancel,
  type FlywheelClient,
  isFinal,
  isFlywheelError,
  watchBatch,
} from '@flywheel/sdk';
import { VAULT_INDEX, vaultAddress } from '@flywheel/squads';
import { address, type KeyPairSigner } from '@solana/kit';
import { type Command, Option } from 'commander';
import { type Context, openClient, type RpcUrlOption, trustedRpcUrl, type UrlOption } from '../../context.ts';
import { signInEverywhere } from '../../every-shard.ts';
import { readWallet } from '../../files.ts';
import { describeNextPage, layOutTable } from '../../format.ts';
import { interruptible } from '../../interrupt.ts';
import {
  addBatchArgument,
  addRpcUrlOption,
  addUrlOption,
  addVaultTrustOption,
  parseWholeNumber,
} from '../../options.ts';
import { openPins, type TrustOption } from '../../pins.ts';
import { findProjectOfBatch } from '../project/sign-in.ts';
import { describeBatch } from './describe-batch.ts';

interface ListOptions extends UrlOption {
  readonly status?: BatchStatus;
  readonly limit?: number;
  readonly cursor?: string;
}

/** The service’s largest page. */
const MAX_LISTED = 100;
const DEFAULT_LISTED = 20;

/** `flywheel batches`: the project’s newest batches. */
export function addBatchesCommand(program: Command, context: Context): void {
  const { output } = context;
  const command = program
    .command('batches')
    .summary('list the project’s batches, newest first')
    .description('List the project’s batches, newest first: id, status, pipelines executed, creation.')
    .addOption(new Option('--status <status>', 'only batches of this status').choices(BatchStatus.options))
    .option(
      '--limit <number>',
      `number of batches, 1 to ${MAX_LISTED}; default: ${DEFAULT_LISTED}`,
      parseWholeNumber(1, MAX_LISTED),
    )
    .option('--cursor <cursor>', 'next page: the cursor that the previous one shows');
  addUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel batches --status FINALIZED')
    .action(async ({ status, limit = DEFAULT_LISTED, cursor, ...options }: ListOptions) => {
      const client = openClient(context, options);
      const page = await client.listBatches({ limit, ...(status && { status }), ...(cursor && { cursor }) });
      const { heading, lines } = layOutTable(
        ['BATCH', 'STATUS', 'EXECUTED', 'CREATED'],
        page.batches.map(cellsOf),
        output.stdout,
      );
      const shown = [heading, ...lines, ...describeNextPage(page.nextCursor)].join('\n');
      output.result(page, lines.length === 0 ? 'No batches.' : shown);
    });
}

function cellsOf({ id, status, executeResult, dateCreated }: Batch): string[] {
  const executed = executeResult ? `${executeResult.totalSuccessful} of ${executeResult.total}` : '';
  return [id, status, executed, dateCreated];
}

interface CancelOptions extends UrlOption, RpcUrlOption, TrustOption {
  readonly wallet?: string;
}

/** `flywheel cancel BATCH_ID`: ends an open batch. */
export function addCancelCommand(program: Command, context: Context): void {
  const command = addBatchArgument(program.command('cancel'))
    .summary('cancel an open batch')
    .description(
      'Cancel an open batch and wait for its end. Pipelines that were executed stay executed. Withdrawals and replacements are cancelled with --wallet. If the batch was approved on chain, the operator gets its rent back only after the wallet’s cancel vote: --wallet casts it, for a fee of 5,000 lamports, and only in a multisig that this computer knows for the wallet.',
    )
    .option('--wallet <file>', 'keypair file of the project’s wallet, for its batches and its cancel vote');
  addUrlOption(addRpcUrlOption(addVaultTrustOption(command)))
    .addHelpText('after', '\nExample:\n  flywheel cancel 0198a3c2-… --wallet wallet.json')
    .action(async (batchId: string, { wallet: walletFile, ...options }: CancelOptions) => {
      const { output } = context;
      output.nameBatch({ batchId, idempotencyKey: null });
      const wallet = walletFile === undefined ? null : await readWallet(walletFile);
      const client = await openBatch(context, { batchId, wallet }, options);
      const vote = wallet === null ? null : await prepareVote(context, { client, wallet, batchId }, options);
      const batch = await interruptible(async (signal) => {
        const answer = await client.cancelBatch(batchId, { signal });
        const ended = isFinal(answer)
          ? await client.getBatch(batchId, { signal })
          : await watchBatch(client, batchId, { signal });
        const isVoteOwed = 'cancelTx' in answer && answer.cancelTx !== undefined;
        if (vote) {
          await castCancel(client, batchId, { ...vote, signal });
        } else if (isVoteOwed) {
          const how =
            wallet === null
              ? '--wallet casts it.'
              : `--trust ${ended.vaultAddress} casts it, if that is the project’s vault: this computer does not know it.`;
          output.note(`Note: the operator gets its rent back only after the wallet’s cancel vote; ${how}`);
        }
        return ended;
      }, 'The cancellation continues without this command.');
      output.result(batch, describeBatch(batch, output.stdout));
    });
}

/** Reads and cancels one batch. */
type BatchClient = Pick<FlywheelClient, 'getBatch' | 'cancelBatch'>;

/**
 * Opens a batch for the API key, or for the wallet if only that can see it: a withdrawal, a replacement, or a batch of a
 * project whose key is not at hand.
 */
async function openBatch(
  context: Context,
  { batchId, wallet }: { readonly batchId: string; readonly wallet: KeyPairSigner | null },
  options: UrlOption,
): Promise<BatchClient> {
  if (wallet === null) return openClient(context, options);
  if (context.environment.FLYWHEEL_API_KEY) {
    const client = openClient(context, options);
    try {
      await client.getBatch(batchId);
      return client;
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_BATCH_NOT_FOUND')) throw error;
    }
  }
  const console = await signInEverywhere(context, options, wallet);
  const projectId = await findProjectOfBatch(console, batchId);
  const of = (id: string) => ({ params: { projectId, batchId: id } });
  return {
    getBatch: async (id) => (await console.call(BATCH_OPERATIONS.getBatchProgress, of(id))).batch,
    cancelBatch: (id) => console.call(BATCH_OPERATIONS.cancelProjectBatch, { ...of(id), headers: {} }),
  };
}

/**
 * Reads what this computer knows of the wallet's multisig, before anything is cancelled. A multisig that only the service names
 * gets no vote: it could be any one of which the wallet is a member.
 * @returns null if this computer does not know the wallet's multisig, and `--trust` does not name its vault.
 * @throws CliError `ERR_PIN` if the service shows the batch in another vault than this computer knows.
 */
async function prepareVote(
  context: Context,
  {
    client,
    wallet,
    batchId,
  }: { readonly client: BatchClient; readonly wallet: KeyPairSigner; readonly batchId: string },
  options: UrlOption & RpcUrlOption & TrustOption,
): Promise<Pick<CastCancelOptions, 'wallet' | 'rpcUrl' | 'multisig'> | null> {
  const rpcUrl = await trustedRpcUrl(context, options);
  const pins = await openPins(context, options, rpcUrl);
  const claimed = await client.getBatch(batchId);
  const { trust = [] } = options;
  const pin = await pins.findMultisig(wallet.address, claimed, trust);
  if (pin !== null) return { wallet, rpcUrl, multisig: pin.multisig };
  const { multisig } = claimed;
  return trust.includes(vaultAddress(address(multisig), VAULT_INDEX)) ? { wallet, rpcUrl, multisig } : null;
}
