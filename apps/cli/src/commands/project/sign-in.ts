import { CONSOLE_OPERATIONS, type ProjectSummary } from '@flywheel/api';
import { FlywheelError, isFlywheelError } from '@flywheel/sdk';
import type { Command } from 'commander';
import type { ConsoleClient } from '../../console-client.ts';
import type { Context, UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { listOwnProjects, signInEverywhere } from '../../every-shard.ts';
import { readWallet } from '../../files.ts';
import { addUrlOption, addWalletOption } from '../../options.ts';

export interface ProjectOptions extends UrlOption {
  readonly wallet: string;
  readonly project?: string;
}

/** Adds the options of a command that acts for a project’s wallet. */
export function addProjectOptions(command: Command): Command {
  const withWallet = addWalletOption(command);
  withWallet.option('--project <id>', 'project id; may be omitted if the wallet has one project');
  return addUrlOption(withWallet);
}

/** Signs the wallet in at every shard, and determines the project. */
export async function signIn(
  context: Context,
  options: ProjectOptions,
): Promise<{ readonly console: ConsoleClient; readonly projectId: string }> {
  const wallet = await readWallet(options.wallet);
  const console = await signInEverywhere(context, options, wallet);
  return { console, projectId: options.project ?? (await readOnlyProject(console)) };
}

/**
 * Finds the project of FLYWHEEL_API_KEY among those of the wallet that has signed in.
 * @throws CliError `ERR_WALLET` if the wallet has no such project.
 */
export async function findProjectOfKey(console: ConsoleClient, apiKey: string): Promise<ProjectSummary> {
  const { projects, missing } = await listOwnProjects(console);
  for (const project of projects) {
    const { keys } = await console.call(CONSOLE_OPERATIONS.listKeys, { params: { projectId: project.id } });
    if (keys.some(({ prefix }) => apiKey.startsWith(prefix))) return project;
  }
  throw new CliError(
    'ERR_WALLET',
    `FLYWHEEL_API_KEY belongs to none of this wallet’s projects (${projects.length}). Use the wallet that registered the project.${missing}`,
  );
}

/**
 * Finds the project of a batch among those of the wallet that has signed in.
 * @throws FlywheelError `ERR_BATCH_NOT_FOUND` if none has it.
 */
export async function findProjectOfBatch(console: ConsoleClient, batchId: string): Promise<string> {
  const { projects, missing } = await listOwnProjects(console);
  for (const { id: projectId } of projects) {
    try {
      await console.call(CONSOLE_OPERATIONS.getBatchProgress, { params: { projectId, batchId } });
      return projectId;
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_BATCH_NOT_FOUND')) throw error;
    }
  }
  const message = `Batch ${batchId} belongs to none of this wallet’s projects (${projects.length}).${missing}`;
  throw new FlywheelError({ code: 'ERR_BATCH_NOT_FOUND', message, batchId });
}

/** Keeps the message short for a wallet with many projects. */
const MAX_LISTED_PROJECTS = 5;

async function readOnlyProject(console: ConsoleClient): Promise<string> {
  const { projects, missing } = await listOwnProjects(console);
  if (missing !== '') {
    throw new CliError('ERR_USAGE', `Pass the project as --project: the wallet may have others.${missing}`);
  }
  const [first, ...others] = projects;
  if (!first) throw new CliError('ERR_USAGE', 'The wallet has no project. Create one with flywheel register.');
  if (others.length === 0) return first.id;
  const listed = projects.slice(0, MAX_LISTED_PROJECTS).map(({ id, token }) => `${id} (token ${token.mint})`);
  const more = projects.length > MAX_LISTED_PROJECTS ? ', …' : '';
  throw new CliError(
    'ERR_USAGE',
    `The wallet has ${projects.length} projects. Pass one as --project: ${listed.join(', ')}${more}`,
  );
}
