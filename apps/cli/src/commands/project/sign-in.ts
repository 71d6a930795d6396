import { type Command, Option } from 'commander';
import type { ConsoleClient } from '../../console-client.ts';
import { type Context, openConsole, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readWallet } from '../../files.ts';

export interface ProjectOptions extends UrlOption {
  readonly wallet: string;
  readonly project?: string;
}

/** What a command takes that acts for a project’s wallet. */
export function addProjectOptions(command: Command): Command {
  return command
    .requiredOption('--wallet <file>', 'the project’s wallet, a Solana CLI keypair file')
    .addOption(new Option('--project <id>', 'as flywheel register answered it; the wallet’s only one by default'))
    .option('--url <url>', 'the service, else FLYWHEEL_URL');
}

export interface SignedIn {
  readonly console: ConsoleClient;
  readonly projectId: string;
}

/** Signs the wallet in, and finds which project is meant. */
export async function signIn(context: Context, options: ProjectOptions): Promise<SignedIn> {
  const wallet = await readWallet(options.wallet);
  const console = openConsole(context, options);
  await console.signIn(wallet);
  return { console, projectId: options.project ?? (await onlyProject(console)) };
}

/** So many are told apart at a glance. */
const MAX_NAMED = 5;

async function onlyProject(console: ConsoleClient): Promise<string> {
  const projects = await console.listProjects();
  const [first, ...others] = projects;
  if (!first) throw new CliError('ERR_USAGE', 'The wallet has no project. Make one with flywheel register.');
  if (others.length === 0) return first.id;
  const named = projects.slice(0, MAX_NAMED).map(({ id, token }) => `${id} (token ${token.mint})`);
  const more = projects.length > MAX_NAMED ? ', …' : '';
  throw new CliError(
    'ERR_USAGE',
    `The wallet has ${projects.length} projects: say --project. ${named.join(', ')}${more}`,
  );
}
