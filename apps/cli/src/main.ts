import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { Command, CommanderError } from 'commander';
import packageFile from '../package.json' with { type: 'json' };
import { addAirdropCommand } from './commands/airdrop/airdrop.ts';
import { addInitCommand } from './commands/batch/init.ts';
import { addRunCommand } from './commands/batch/run.ts';
import { addSignCommand } from './commands/batch/sign.ts';
import { addStatusCommand } from './commands/batch/status.ts';
import { addExecuteCommand } from './commands/batch/steps.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDemoCommand } from './commands/demo/command.ts';
import { addDoctorCommand } from './commands/doctor/command.ts';
import { addJobsCommands } from './commands/jobs.ts';
import { addLocalnetCommands } from './commands/localnet.ts';
import { addKeysCommands } from './commands/project/keys.ts';
import { addProjectCommands } from './commands/project/project.ts';
import { addRegisterCommand } from './commands/project/register.ts';
import { addWebhooksCommands } from './commands/project/webhooks.ts';
import { addProofCommands } from './commands/proof.ts';
import { addServiceCommands } from './commands/service.ts';
import type { Context } from './context.ts';
import { CliError } from './errors.ts';
import { EXIT_CODES } from './exit-code.ts';
import { createOutput } from './output.ts';

/** What a command line reads from and writes to; the process itself, or a test’s stand-in. */
export interface Surroundings {
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const JSON_OPTION = '--json';

/**
 * Runs one command line.
 * @returns the exit code: 0, or another after a failure was said on stderr.
 */
export async function main(words: readonly string[], { stdout, stderr, env }: Surroundings = process): Promise<number> {
  const output = createOutput({ json: words.includes(JSON_OPTION), stdout, stderr, terminalKind: env.TERM });
  const program = createProgram({ environment: env, output });
  try {
    if (words.length === 0) program.outputHelp();
    // The word may stand anywhere, also where only a part of a command is given.
    else
      await program.parseAsync(
        words.filter((word) => word !== JSON_OPTION),
        { from: 'user' },
      );
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) return output.fail(error);
    if (error.exitCode === 0) return 0;
    return output.fail(usageError(error, words));
  }
}

function createProgram(context: Context): Command {
  const { stdout } = context.output;
  const program = new Command('flywheel')
    .description('Token operations, approved by two parties, executed on Solana, provable by anyone.')
    .version(packageFile.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'say more')
    .configureHelp({
      // Arguments and options have their own page.
      subcommandTerm: (command) => command.name(),
      styleTitle: (title) => styleText('bold', title, { stream: stdout }),
      styleCommandText: (text) => styleText('cyan', text, { stream: stdout }),
    });
  program.commandsGroup('Batches:');
  addRunCommand(program, context);
  addAirdropCommand(program, context);
  addStatusCommand(program, context);
  addProofCommands(program, context);
  addInitCommand(program, context);
  addSignCommand(program, context);
  addExecuteCommand(program, context);
  program.commandsGroup('Project:');
  addRegisterCommand(program, context);
  addProjectCommands(program, context);
  addKeysCommands(program, context);
  addWebhooksCommands(program, context);
  program.commandsGroup('Service:');
  addDemoCommand(program, context);
  addServiceCommands(program, context);
  addDoctorCommand(program, context);
  addJobsCommands(program, context);
  addLocalnetCommands(program, context);
  program.commandsGroup(LAST_GROUP);
  addCompletionCommand(program, context);
  program.addHelpCommand(
    new Command('help').argument('[command]').summary('say more about a command').helpGroup(LAST_GROUP),
  );
  program.addHelpText('after', AFTER_HELP);
  forEachCommand(program, (command) => {
    // Errors are said by us, in one voice and as JSON if asked; help keeps its place on stdout.
    command.exitOverride().configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => undefined });
    // flywheel help says the same of each.
    if (command !== program) command.helpCommand(false);
    if (command.commands.length === 0) {
      command.option(JSON_OPTION, 'print exactly one JSON document on stdout; failures as {error, message} on stderr');
    }
  });
  return program;
}

const LAST_GROUP = 'This command line:';

const AFTER_HELP = `
Start here:
  flywheel demo             the main job on this machine alone
  flywheel start            the service at http://127.0.0.1:4000
  flywheel help <command>   what a command takes, with an example

Environment: FLYWHEEL_URL, FLYWHEEL_API_KEY, SOLANA_RPC_URL, NO_COLOR, FORCE_COLOR.

Exit codes:
${EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join('\n')}`;

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

function usageError(error: CommanderError, words: readonly string[]): CliError {
  const [group = ''] = words.filter((word) => !word.startsWith('-'));
  if (error.code === 'commander.help' && group === 'help') {
    const [, wanted = ''] = words.filter((word) => !word.startsWith('-'));
    return new CliError('ERR_USAGE', `Unknown command '${wanted}'. See flywheel --help.`, { cause: error });
  }
  if (error.code === 'commander.help') {
    const message = `flywheel ${group} needs a command; flywheel ${group} --help lists them.`;
    return new CliError('ERR_USAGE', message, { cause: error });
  }
  const sentence = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/[^.?)]$/, '$&.');
  const text = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  const help = error.code === 'commander.unknownCommand' ? 'flywheel --help' : `flywheel ${group} --help`;
  return new CliError('ERR_USAGE', `${text} See ${help}.`, { cause: error });
}
