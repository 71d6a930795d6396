import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { parseWholeNumber } from '../../options.ts';
import { parseScopes } from '../../scopes.ts';
import { describeKeys } from './describe-keys.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';

interface CreateOptions extends ProjectOptions {
  readonly scopes?: ReturnType<typeof parseScopes>;
  readonly name?: string;
}

interface RotateOptions extends ProjectOptions {
  readonly key: string;
  readonly overlapHours?: number;
  readonly name?: string;
}

interface RevokeOptions extends ProjectOptions {
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

  addProjectOptions(keys.command('list'))
    .summary('list them, with their last use and their end')
    .description('List the API keys of a project, newest first, with when each was last used and when it ends.')
    .addHelpText('after', '\nExample:\n  flywheel keys list --wallet wallet.json --project 0198a3c2-…')
    .action(async (options: ProjectOptions) => {
      const { console, projectId } = await signIn(context, options);
      const listed = await console.listKeys(projectId);
      output.result({ keys: listed }, describeKeys(listed, output.stdout));
    });

  addProjectOptions(keys.command('create'))
    .summary('make one; it is shown this once')
    .description('Create an API key. It is shown this once; only its hash is kept.')
    .option('--scopes <list>', 'burn, airdrop, or both joined by a comma; the project’s own by default', parseScopes)
    .option('--name <name>', 'to tell keys apart')
    .addHelpText('after', '\nExample:\n  flywheel keys create --wallet wallet.json --project 0198a3c2-… --scopes burn')
    .action(async ({ scopes, name, ...options }: CreateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const created = await console.createKey(projectId, {
        ...(scopes === undefined ? {} : { scopes }),
        ...(name === undefined ? {} : { name }),
      });
      output.result(
        created,
        `Key ${created.keyId}, shown this once:\n  export FLYWHEEL_API_KEY=${created.apiKey}\nTo end it: flywheel keys revoke --wallet ${options.wallet} --project ${projectId} --key ${created.keyId}`,
      );
    });

  addProjectOptions(keys.command('rotate'))
    .summary('replace one, both working for a while')
    .description('Replace an API key by a new one with the same scopes. Both work until the overlap is over.')
    .requiredOption('--key <id>', 'the key to replace, as flywheel keys list shows it')
    .option(
      '--overlap-hours <hours>',
      'how long the old key goes on working, 0 to end it at once; 24 by default',
      parseWholeNumber(0, MAX_OVERLAP_HOURS),
    )
    .option('--name <name>', 'of the new key; the old one’s by default')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel keys rotate --wallet wallet.json --project 0198a3c2-… --key 0198a3d0-… --overlap-hours 2',
    )
    .action(async ({ overlapHours, name, ...options }: RotateOptions) => {
      const { console, projectId } = await signIn(context, options);
      const rotated = await console.rotateKey(projectId, options.key, {
        ...(overlapHours === undefined ? {} : { overlapSeconds: overlapHours * SECONDS_PER_HOUR }),
        ...(name === undefined ? {} : { name }),
      });
      output.result(
        rotated,
        `Key ${rotated.keyId}, shown this once:\n  export FLYWHEEL_API_KEY=${rotated.apiKey}\nThe old key works until ${rotated.replacedExpiresAt}.`,
      );
    });

  addProjectOptions(keys.command('revoke'))
    .summary('end one, at once and for good')
    .description('Revoke an API key, at once and for good.')
    .requiredOption('--key <id>', 'the key, as flywheel keys list shows it')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel keys revoke --wallet wallet.json --project 0198a3c2-… --key 0198a3d0-…',
    )
    .action(async (options: RevokeOptions) => {
      const { console, projectId } = await signIn(context, options);
      const revoked = await console.revokeKey(projectId, options.key);
      output.result(revoked, `Key ${revoked.keyId} is revoked since ${revoked.revokedAt}.`);
    });
}
