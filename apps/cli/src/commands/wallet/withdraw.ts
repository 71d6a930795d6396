import { type BatchDetail, CONSOLE_OPERATIONS, TREASURY_OPERATIONS, type WithdrawalRequest } from '@flywheel/api';
import { SOL_DECIMALS, toBaseUnits } from '@flywheel/protocol';
import { type Command, Option } from 'commander';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { parseAddress } from '../../options.ts';
import { addWalletOptions, approveBatch, openWallet, type WalletOptions } from './approve.ts';

interface WithdrawOptions extends WalletOptions {
  readonly asset: 'sol' | 'token';
  readonly to: string;
  readonly idempotencyKey?: string;
  readonly yes?: boolean;
}

/** `flywheel withdraw AMOUNT --asset sol --to ADDRESS` */
export function addWithdrawCommand(program: Command, context: Context): void {
  addWalletOptions(program.command('withdraw'))
    .summary('withdraw SOL or tokens from the vault')
    .description(
      'Create a withdrawal, show what the chain holds of it, verify that it is the one that was asked for, and approve it with the project’s wallet. A person of the company decides then. After an interruption, continue with flywheel approve, or with the same --idempotency-key: another withdraw is another withdrawal.',
    )
    .argument('<amount>', 'whole SOL or tokens, such as 1.5')
    .addOption(
      new Option('--asset <asset>', 'sol, or token for the project’s token')
        .choices(['sol', 'token'])
        .makeOptionMandatory(),
    )
    .requiredOption('--to <address>', 'wallet that receives it', parseAddress)
    .option('--idempotency-key <uuid>', 'the same key is the same withdrawal; default: a random key')
    .option('--yes', 'sign without asking if the chain holds this withdrawal')
    .addHelpText('after', '\nExample:\n  flywheel withdraw 1.5 --asset sol --to 12Zg… --wallet wallet.json')
    .action((amount: string, options: WithdrawOptions) => withdraw(context, amount, options));
}

async function withdraw(context: Context, amount: string, options: WithdrawOptions): Promise<void> {
  const { output } = context;
  const { idempotencyKey = crypto.randomUUID(), to, yes = false } = options;
  const session = await openWallet(context, options);
  const { console, projectId } = session;
  const params = { projectId };
  const { token } = await console.call(CONSOLE_OPERATIONS.getProject, { params });
  const asset = options.asset === 'sol' ? 'SOL' : 'TOKEN';
  const decimals = asset === 'SOL' ? SOL_DECIMALS : token.decimals;
  const request: WithdrawalRequest = { asset, to, amount };
  if (!toBaseUnits(amount, decimals)) {
    throw new CliError('ERR_USAGE', `${amount} is not an amount: digits, and at most ${decimals} decimals.`);
  }
  output.nameBatch({ batchId: null, idempotencyKey });
  output.note(`Idempotency key ${idempotencyKey}`);
  const headers = { 'x-idempotency-key': idempotencyKey };
  const { batchId, warnings } = await console.call(TREASURY_OPERATIONS.withdraw, { params, headers, body: request });
  output.note(`Batch ${batchId}`);
  for (const warning of warnings) output.note(`Note: ${warning}`);
  await approveBatch(context, session, {
    batchId,
    idempotencyKey,
    isConfirmed: yes,
    requireAsked: (detail) => requireWithdrawal(detail, request, decimals),
  });
}

/** The chain is compared with what the batch shows, and this is compared with what was asked for. */
function requireWithdrawal(
  { pipelines }: BatchDetail,
  { asset, to, amount }: WithdrawalRequest,
  decimals: number,
): void {
  const [action, ...others] = pipelines.flatMap(({ actions }) => actions);
  const isAsked =
    others.length === 0 &&
    action?.action === 'WITHDRAW' &&
    action.asset === asset &&
    action.toAddress === to &&
    toBaseUnits(action.amount, decimals) === toBaseUnits(amount, decimals);
  if (!isAsked)
    throw new CliError('ERR_CLUSTER', 'Nothing was signed: the batch is not the withdrawal that was asked for.');
}
