import type { Command } from 'commander';
import { type Context, openConsole, type UrlOption } from '../context.ts';
import { parseScopes } from '../input/scopes.ts';
import { readWallet } from '../input/wallet.ts';

interface KeyOptions extends UrlOption {
  readonly wallet: string;
  readonly project: string;
}

interface CreateOptions extends KeyOptions {
  readonly scopes?: ReturnType<typeof parseScopes>;
  readonly name?: string;
}

interface RevokeOptions extends KeyOptions {
  readonly key: string;
}

/** `flywheel keys create` and `flywheel keys revoke` */
export function addKeysCommands(program: Command, context: Context): void {
  const { output } = context;
  const keys = program.command('keys').summary('create and revoke API keys').description('API keys of a project.');

  keys
    .command('create')
    .description('Create an API key. It is shown this once; only its hash is kept.')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .requiredOption('--project <id>', 'as flywheel register answered it')
    .option('--scopes <list>', 'burn, airdrop, or both joined by a comma; the project’s own by default', parseScopes)
    .option('--name <name>', 'to tell keys apart')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel keys create --wallet wallet.json --project 0198a3c2-… --scopes burn')
    .action(async ({ scopes, name, ...options }: CreateOptions) => {
      const console = await signedIn(context, options);
      const created = await console.createKey(options.project, {
        ...(scopes === undefined ? {} : { scopes }),
        ...(name === undefined ? {} : { name }),
      });
      output.result(
        created,
        `Key ${created.keyId}, shown this once:\n  export FLYWHEEL_API_KEY=${created.apiKey}\nTo end it: flywheel keys revoke --wallet ${options.wallet} --project ${options.project} --key ${created.keyId}`,
      );
    });

  keys
    .command('revoke')
    .description('Revoke an API key, at once and for good.')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .requiredOption('--project <id>', 'as flywheel register answered it')
    .requiredOption('--key <id>', 'the keyId, as flywheel keys create answered it')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel keys revoke --wallet wallet.json --project 0198a3c2-… --key 0198a3d0-…',
    )
    .action(async (options: RevokeOptions) => {
      const console = await signedIn(context, options);
      const revoked = await console.revokeKey(options.project, options.key);
      output.result(revoked, `Key ${revoked.keyId} is revoked since ${revoked.revokedAt}.`);
    });
}

async function signedIn(context: Context, options: KeyOptions) {
  const wallet = await readWallet(options.wallet);
  const console = openConsole(context, options);
  await console.signIn(wallet);
  return console;
}
