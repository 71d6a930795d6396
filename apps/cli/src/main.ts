import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { LOCAL_SERVICE_URL } from '@flywheel/api';
import { Command, CommanderError, Help, type Option } from 'commander';
import packageFile from '../package.json' with { type: 'json' };
import { addAirdropCommand } from './commands/airdrop/airdrop.ts';
import { addAuditCommand } from './commands/audit/audit.ts';
import { addBatchesCommand, addCancelCommand } from './commands/batch/batches.ts';
import { addPreviewCommand } from './commands/batch/preview.ts';
import { addRunCommand } from './commands/batch/run.ts';
import { addStatusCommand } from './commands/batch/status.ts';
import { addExecuteCommand, addInitCommand, addSignCommand } from './commands/batch/steps.ts';
import { addCollectCommand } from './commands/collect/collect.ts';
import { addCompanyCommands } from './commands/company/company.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDemoCommand } from './commands/demo/demo.ts';
import { addDoctorCommand } from './commands/doctor/doctor.ts';
import { addJobsCommands } from './commands/jobs.ts';
import { addLocalnetCommands } from './commands/localnet.ts';
import { addMoveProjectCommand } from './commands/move-project.ts';
import { addKeysCommands } from './commands/project/keys.ts';
import { addMintCommand } from './commands/project/mint.ts';
import { addProjectCommands } from './commands/project/project.ts';
import { addRegisterCommand } from './commands/project/register.ts';
import { addVaultCommands } from './commands/project/vault.ts';
import { addWebhooksCommands } from './commands/project/webhooks.ts';
import { addProofCommands } from './commands/proof.ts';
import { addRecoverOperatorCommand } from './commands/recover-operator.ts';
import { addServiceCommands } from './commands/service.ts';
import { addApproveCommand } from './commands/wallet/approve.ts';
import { addMembersCommand, addRotateWalletCommand } from './commands/wallet/members.ts';
import { addWithdrawCommand } from './commands/wallet/withdraw.ts';
import { type Context, programName } from './context.ts';
import { CliError, EXIT_CODES } from './errors.ts';
import { createOutput } from './output.ts';

export { outliveStreams } from './outlive-streams.ts';

/** The streams and the environment of a command line: those of the process, or a test’s. */
export interface ProcessIO {
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Read by commands that take their input from it; that of the process by default. */
  readonly stdin?: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const JSON_OPTION = '--json';
const HELP = 'help';

/**
 * Runs one command line.
 * @returns the exit code: 0, or another after an error was printed on stderr.
 */
export async function main(
  words: readonly string[],
  { stdout, stderr, stdin, env }: ProcessIO = process,
): Promise<number> {
  const output = createOutput({
    json: words.includes(JSON_OPTION),
    stdout,
    stderr,
    terminalType: env.TERM,
    program: programName({ environment: env }),
  });
  const program = createProgram({ environment: env, output, stdin: stdin ?? process.stdin });
  // --json may stand anywhere, so that errors of parsing are JSON too.
  const otherWords = words.filter((word) => word !== JSON_OPTION);
  try {
    if (words.length === 0) program.outputHelp();
    else if (otherWords[0] === HELP) printHelp(program, otherWords.slice(1));
    else await program.parseAsync(otherWords, { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) return output.fail(error);
    if (error.exitCode === 0) return 0;
    return output.fail(toUsageError(error, findCommand(program, otherWords)));
  }
}

/** Creates the command `flywheel` with all commands below it. */
export function createProgram(context: Context): Command {
  const { stdout } = context.output;
  const program = new Command('flywheel')
    .description('Token operations, approved by two parties, executed on Solana, provable by anyone.')
    .version(packageFile.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .configureHelp({
      optionDescription: describeOption,
      // The help of each command lists its arguments and options.
      subcommandTerm: (command) => command.name(),
      styleTitle: (title) => styleText('bold', title, { stream: stdout }),
      styleCommandText: (text) => styleText('cyan', text, { stream: stdout }),
    });
  program.commandsGroup('Batches:');
  addPreviewCommand(program, context);
  addRunCommand(program, context);
  addAirdropCommand(program, context);
  addCollectCommand(program, context);
  addStatusCommand(program, context);
  addBatchesCommand(program, context);
  addCancelCommand(program, context);
  addProofCommands(program, context);
  addAuditCommand(program, context);
  addInitCommand(program, context);
  addSignCommand(program, context);
  addExecuteCommand(program, context);
  program.commandsGroup('Project:');
  addMintCommand(program, context);
  addRegisterCommand(program, context);
  addProjectCommands(program, context);
  addKeysCommands(program, context);
  addWebhooksCommands(program, context);
  addWithdrawCommand(program, context);
  addApproveCommand(program, context);
  addMembersCommand(program, context);
  addRotateWalletCommand(program, context);
  addVaultCommands(program, context);
  program.commandsGroup('Service:');
  addDemoCommand(program, context);
  addServiceCommands(program, context);
  addDoctorCommand(program, context);
  addCompanyCommands(program, context);
  addJobsCommands(program, context);
  addRecoverOperatorCommand(program, context);
  addMoveProjectCommand(program, context);
  addLocalnetCommands(program, context);
  program.commandsGroup(LAST_GROUP);
  addCompletionCommand(program, context);
  program.addHelpCommand(
    new Command(HELP).argument('[command...]').summary('print help for a command').helpGroup(LAST_GROUP),
  );
  program.addHelpText('after', AFTER_HELP);
  forEachCommand(program, (command) => {
    // Output prints errors, in one format and as JSON with --json; help stays on stdout.
    command.exitOverride().configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => undefined });
    // One help command is enough: flywheel help COMMAND.
    if (command !== program) command.helpCommand(false);
    if (command.commands.length === 0) {
      command.option(JSON_OPTION, 'print the result as one JSON document on stdout, an error as JSON on stderr');
    }
  });
  return program;
}

/** Describes an option as commander does, without the empty list that an option which may be repeated begins with. */
function describeOption(option: Option): string {
  if (!Array.isArray(option.defaultValue) || option.defaultValue.length > 0) {
    return Help.prototype.optionDescription(option);
  }
  return option.description;
}

const LAST_GROUP = 'Other:';

const AFTER_HELP = `
Get started:
  flywheel demo             run a batch from start to end on this machine
  flywheel start            run the service at ${LOCAL_SERVICE_URL}
  flywheel help <command>   print help and an example

Environment: FLYWHEEL_URL, FLYWHEEL_API_KEY, SOLANA_RPC_URL, NO_COLOR, FORCE_COLOR.

Exit codes:
${EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join('\n')}`;

function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEachCommand(child, visit);
}

/**
 * Prints the help of the command that words name, such as `keys create`. Commander's own reads one word only.
 * @throws CliError ERR_USAGE if there is no such command
 */
function printHelp(program: Command, words: readonly string[]): void {
  const names = words.filter((word) => !word.startsWith('-'));
  const { command, depth, path } = findCommand(program, names);
  const unknown = names[depth];
  if (unknown !== undefined && command.commands.length > 0) {
    throw new CliError('ERR_USAGE', `Unknown command '${unknown}'. See ${path} --help.`);
  }
  command.outputHelp();
}

interface FoundCommand {
  readonly command: Command;
  /** Its words, `flywheel` first. */
  readonly path: string;
  /** Number of its words without `flywheel`. */
  readonly depth: number;
}

/** Finds the command that words name. */
function findCommand(program: Command, words: readonly string[]): FoundCommand {
  let [command, path, depth] = [program, program.name(), 0];
  for (const word of words) {
    const child = command.commands.find((each) => each.name() === word);
    if (child === undefined) break;
    command = child;
    path = `${path} ${word}`;
    depth += 1;
  }
  return { command, path, depth };
}

function toUsageError(error: CommanderError, { command, path }: FoundCommand): CliError {
  if (error.code === 'commander.help') {
    return new CliError('ERR_USAGE', `${path} needs a subcommand. See ${path} --help.`, { cause: error });
  }
  const sentence = preferBeginning(error.message, command)
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/[^.?)]$/, '$&.');
  const text = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return new CliError('ERR_USAGE', `${text} See ${path} --help.`, { cause: error });
}

/** Commander suggests the command with the fewest different letters; a beginning of a name says more: `stat` is `status`. */
function preferBeginning(message: string, { commands }: Command): string {
  const [, typed] = /unknown command '(.+?)'/.exec(message) ?? [];
  if (typed === undefined) return message;
  const begun = commands.map((each) => each.name()).filter((name) => name.startsWith(typed));
  if (begun.length !== 1) return message;
  return `${message.replace(/\s*\(Did you mean .*\)/s, '')} (Did you mean ${begun[0]}?)`;
}
