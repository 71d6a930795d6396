import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';

const COMMANDS = {
  start: {
    summary: 'database, cluster, HTTP and worker in one process',
    description:
      'Run the whole service on this machine, with an embedded PostgreSQL and a local cluster unless DATABASE_URL and SOLANA_RPC_URL name others. Prints one JSON line when ready and stops on SIGTERM.',
    example: 'PORT=4000 flywheel start',
  },
  serve: {
    summary: 'answer HTTP only, holding no key',
    description: 'Answer HTTP. Holds no private key: run any number of these beside flywheel work.',
    example: 'DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… flywheel serve',
  },
  work: {
    summary: 'carry out batches; holds the signers',
    description: 'Set batches up and execute them. Holds the signers: OPERATOR_SIGNER and COMPANY_SIGNER.',
    example: 'DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… flywheel work',
  },
  migrate: {
    summary: 'bring the database’s schema up to date',
    description: 'Apply the migrations that the database has not seen yet; safe to run twice, and from two places.',
    example: 'DATABASE_URL=postgres://… flywheel migrate',
  },
} as const;

/** `flywheel start`, `serve`, `work` and `migrate`: the service itself, configured by the environment. */
export function addServiceCommands(program: Command, { output }: Context): void {
  for (const name of ['start', 'serve', 'work', 'migrate'] as const) {
    const { summary, description, example } = COMMANDS[name];
    program
      .command(name)
      .summary(summary)
      .description(description)
      .addHelpText('after', `\nExample:\n  ${example}`)
      .action(async () => {
        // Loaded only here: the other commands start faster without the service.
        const { ConfigError, main } = await import('@flywheel/service');
        try {
          await main(name, ({ url }) => {
            // For a person who looks on; a log collector has the JSON line.
            if (url !== null && output.terminal)
              output.note(`The console is at ${url}, the API reference at ${url}/docs.`);
          });
        } catch (error) {
          if (error instanceof ConfigError) throw new CliError('ERR_CONFIGURATION', error.message, { cause: error });
          throw error;
        }
      });
  }
}
