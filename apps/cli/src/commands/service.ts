import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';

const COMMANDS = {
  start: {
    summary: 'run database, cluster, HTTP and worker in one process',
    description:
      'Run the whole service on this machine: with an embedded PostgreSQL unless DATABASE_URL is set, and a local cluster unless SOLANA_RPC_URL is set. Prints one JSON line when it is ready. SIGTERM stops it.',
    example: 'PORT=4000 flywheel start',
  },
  serve: {
    summary: 'run the HTTP server only; holds no private keys',
    description: 'Run the HTTP server. It holds no private keys; run any number of them beside flywheel work.',
    example: 'DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… flywheel serve',
  },
  work: {
    summary: 'run the worker; holds the signers',
    description: 'Run the worker, which sets up and executes batches. It holds OPERATOR_SIGNER and COMPANY_SIGNER.',
    example: 'DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… flywheel work',
  },
  migrate: {
    summary: 'update the database schema',
    description: 'Apply pending migrations. Safe to repeat, and to run on several machines at once.',
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
        // Loaded on demand: the other commands start faster without the service.
        const { ConfigError, LostDatabase, main } = await import('@flywheel/service');
        try {
          await main(name, ({ url }) => {
            // Only for a person: log collectors read the JSON line.
            if (url !== null && output.terminal) output.note(`Console: ${url}\nAPI reference: ${url}/docs`);
          });
        } catch (error) {
          if (error instanceof ConfigError) throw new CliError('ERR_CONFIGURATION', error.message, { cause: error });
          if (error instanceof LostDatabase) throw new CliError('ERR_DATABASE_LOST', error.message, { cause: error });
          throw error;
        }
      });
  }
}
