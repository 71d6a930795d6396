import type { Writable } from 'node:stream';
import {
  type BatchDetail,
  CONSOLE_OPERATIONS,
  type ProjectOverview,
  type Rotation,
  rotationMessage,
  TREASURY_OPERATIONS,
} from '@flywheel/api';
import { encodeBase58 } from '@flywheel/protocol';
import type { Command } from 'commander';
import { signText } from '../../console-client.ts';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';
import { layOutPairs, layOutTable } from '../../format.ts';
import { parseAddress } from '../../options.ts';
import { addProjectOptions, type ProjectOptions, signIn } from '../project/sign-in.ts';
import { addWalletOptions, approveBatch, openWallet, type WalletOptions } from './approve.ts';

/** `flywheel members` */
export function addMembersCommand(program: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(program.command('members'))
    .summary('list the members of the project’s multisig, and their replacements')
    .description(
      'List the members of the project’s multisig, as the service names them, and their replacements, newest first. An open one that the company has requested is approved with flywheel approve.',
    )
    .addHelpText('after', '\nExample:\n  flywheel members --wallet wallet.json')
    .action(async (options: ProjectOptions) => {
      const { console, projectId } = await signIn(context, options);
      const params = { projectId };
      const { multisig } = await console.call(CONSOLE_OPERATIONS.getProject, { params });
      const { rotations } = await console.call(TREASURY_OPERATIONS.listRotations, { params });
      output.result({ multisig, rotations }, describeMembers(multisig, rotations, output.stdout));
    });
}

function describeMembers(
  { address, wallet, company, operator, recovery }: ProjectOverview['multisig'],
  rotations: readonly Rotation[],
  stream: Writable,
): string {
  const members = layOutPairs(
    [
      ['wallet', `${wallet}, votes`],
      ['company', `${company}, votes`],
      ['operator', `${operator}, proposes and executes`],
      ...(recovery === undefined ? [] : [['recovery', `${recovery}, proposes and executes`] as const]),
    ],
    stream,
  );
  const rows = rotations.map(({ batchId, approver, from, to, status }) => [batchId, approver, from, to, status]);
  const { heading, lines } = layOutTable(['BATCH', 'MEMBER', 'FROM', 'TO', 'STATUS'], rows, stream);
  return [`Multisig ${address}`, ...members, ...(rows.length === 0 ? [] : [heading, ...lines])].join('\n');
}

interface RotateOptions extends WalletOptions {
  readonly newWallet?: string;
  readonly to?: string;
  readonly signature?: string;
  readonly idempotencyKey?: string;
  readonly yes?: boolean;
}

/** `flywheel rotate-wallet --new-wallet FILE` */
export function addRotateWalletCommand(program: Command, context: Context): void {
  addWalletOptions(program.command('rotate-wallet'))
    .summary('replace the project’s wallet')
    .description(
      'Replace the project’s wallet: the new wallet signs a text that names the project, then the present one approves the change of the multisig, after it was read from the chain. A person of the company decides then. If the new wallet is elsewhere, --to prints the text for it to sign, and --signature continues.',
    )
    .option('--new-wallet <file>', 'keypair file of the new wallet')
    .option('--to <address>', 'the new wallet, if its key is elsewhere', parseAddress)
    .option('--signature <signature>', 'its signature of the text, base58')
    .option('--idempotency-key <uuid>', 'the same key is the same replacement; default: a random key')
    .option('--yes', 'sign without asking if the chain holds this replacement')
    .addHelpText('after', '\nExample:\n  flywheel rotate-wallet --new-wallet new.json --wallet wallet.json')
    .action((options: RotateOptions) => rotateWallet(context, options));
}

async function rotateWallet(context: Context, options: RotateOptions): Promise<void> {
  const { output } = context;
  const { idempotencyKey = crypto.randomUUID(), yes = false, newWallet, signature: given } = options;
  const successor = newWallet === undefined ? null : await readWallet(newWallet);
  const to = successor?.address ?? options.to;
  if (to === undefined || (successor !== null && options.to !== undefined)) {
    throw new CliError(
      'ERR_USAGE',
      'Name the new wallet: --new-wallet with its keypair file, or --to with its address.',
    );
  }
  const session = await openWallet(context, options);
  const { wallet, console, projectId, pins } = session;
  const from = wallet.address;
  const params = { projectId };
  const { multisig } = await console.call(CONSOLE_OPERATIONS.getProject, { params });
  const text = rotationMessage({ projectId, multisig: multisig.address, from, to });
  const signature = successor === null ? given : encodeBase58(await signText(successor, text));
  if (signature === undefined) {
    output.result({ text, to }, text);
    output.note(`Sign this text with ${to}, and run the same command with --signature.`);
    return;
  }
  output.nameBatch({ batchId: null, idempotencyKey });
  const headers = { 'x-idempotency-key': idempotencyKey };
  const body = { newWallet: to, signature };
  const { batchId } = await console.call(TREASURY_OPERATIONS.rotateWallet, { params, headers, body });
  output.note(`Batch ${batchId}`);
  await approveBatch(context, session, {
    batchId,
    idempotencyKey,
    isConfirmed: yes,
    requireAsked: (detail) => requireReplacement(detail, { from, to }),
    // The new wallet has the same multisig, which this verification has proven.
    keep: (verified) => pins.keepVerified(to, verified),
  });
}

function requireReplacement(
  { pipelines }: BatchDetail,
  { from, to }: { readonly from: string; readonly to: string },
): void {
  const [action, ...others] = pipelines.flatMap(({ actions }) => actions);
  const isAsked =
    others.length === 0 &&
    action?.action === 'ROTATE' &&
    action.approver === 'wallet' &&
    action.from === from &&
    action.to === to;
  if (!isAsked)
    throw new CliError('ERR_CLUSTER', 'Nothing was signed: the batch is not the replacement that was asked for.');
}
