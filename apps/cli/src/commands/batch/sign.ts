import { text } from 'node:stream/consumers';
import { signApproval } from '@flywheel/sdk';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';

interface SignOptions {
  readonly wallet: string;
}

/** `flywheel sign --wallet FILE [TX]`: signs an approval without a network. */
export function addSignCommand(program: Command, { output }: Context): void {
  program
    .command('sign')
    .summary('sign an approval transaction with a wallet')
    .description(
      'Add the wallet’s signature to a proposalApproveTx, read from TX or stdin. Anything but a vote is refused. Needs no network.',
    )
    .argument('[tx]', 'proposalApproveTx, base64; stdin by default')
    .requiredOption('--wallet <file>', 'Solana CLI keypair file')
    .addHelpText('after', '\nExample:\n  jq -r .proposalApproveTx batch.json | flywheel sign --wallet wallet.json')
    .action(async (transaction: string | undefined, options: SignOptions) => {
      const wallet = await readWallet(options.wallet);
      const given = (transaction ?? (await readStdin())).trim();
      const signedTx = await signApproval(given, wallet);
      output.result({ signedTx }, signedTx);
    });
}

async function readStdin(): Promise<string> {
  if (!process.stdin.isTTY) return text(process.stdin);
  throw new CliError('ERR_USAGE', 'Nothing to sign. Give proposalApproveTx as the argument or on stdin.');
}
