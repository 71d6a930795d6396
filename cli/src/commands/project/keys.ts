import type { Command } from 'commander';
import { type Context, openConsole, type UrlOption } from '../../context.ts';
import { describeKeys } from '../../describe/describe-keys.ts';
import { parseScopes } from '../../input/scopes.ts';
import { readWallet } from '../../input/wallet.ts';
import { parseWholeNumber } from '../../input/whole-number.ts';

interface KeyOptions extends UrlOption {
  readonly wallet: string;
  readonly project: string;
}

interface CreateOptions extends KeyOptions {
  readonly scopes?: ReturnType<typeof parseScopes>;
  readonly name?: string;
}

interface RotateOptions extends KeyOptions {
  readonly key: string;
  readonly overlapHours?: number;
  readonly name?: string;
}

interface RevokeOptions extends KeyOptions {
  readonly key: string;
}

const SECONDS_PER_HOUR = 3_600;
/** Thirty days, the most that the service takes. */
const MAX_OVERLAP_HOURS = 720;

/** `flywheel keys list`, `create`, `rotate` and `revoke` */
export function addKeysCommands(program: Command, context: Context): void {
  const { output } = context;
  const keys = program
    .command('keys')
    .summary('list, create, rotate and revoke API keys')
    .description('API keys of a project.');

  keys
    .command('list')
    .description('List the API keys of a project, newest first, with when each was last used and when it ends.')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .requiredOption('--project <id>', 'as flywheel register answered it')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel keys list --wallet wallet.json --project 0198a3c2-…')
    .action(async (options: KeyOptions) => {
      const console = await signedIn(context, options);
      const listed = await console.listKeys(options.project);
      output.result({ keys: listed }, describeKeys(listed, output.stdout));
    });

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
    .command('rotate')
    .description('Replace an API key by a new one with the same scopes. Both work until the overlap is over.')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .requiredOption('--project <id>', 'as flywheel register answered it')
    .requiredOption('--key <id>', 'the key to replace, as flywheel keys list shows it')
    .option(
      '--overlap-hours <hours>',
      'how long the old key goes on working, 0 to end it at once; 24 by default',
      parseWholeNumber(0, MAX_OVERLAP_HOURS),
    )
    .option('--name <name>', 'of the new key; the old one’s by default')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel keys rotate --wallet wallet.json --project 0198a3c2-… --key 0198a3d0-… --overlap-hours 2',
    )
    .action(async ({ overlapHours, name, ...options }: RotateOptions) => {
      const console = await signedIn(context, options);
      const rotated = await console.rotateKey(options.project, options.key, {
        ...(overlapHours === undefined ? {} : { overlapSeconds: overlapHours * SECONDS_PER_HOUR }),
        ...(name === undefined ? {} : { name }),
      });
      output.result(
        rotated,
        `Key ${rotated.keyId}, shown this once:\n  export FLYWHEEL_API_KEY=${rotated.apiKey}\nThe old key works until ${rotated.replacedExpiresAt}.`,
      );
    });

  keys
    .command('revoke')
    .description('Revoke an API key, at once and for good.')
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .requiredOption('--project <id>', 'as flywheel register answered it')
    .requiredOption('--key <id>', 'the key, as flywheel keys list shows it')
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
