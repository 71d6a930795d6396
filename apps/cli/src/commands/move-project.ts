import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { UUID, withAdminOf } from './jobs.ts';

/** `flywheel move-project`: for operators of the service, on the databases of two shards. */
export function addMoveProjectCommand(program: Command, context: Context): void {
  const { output } = context;
  program
    .command('move-project')
    .summary('move a project to another shard')
    .description(
      'Move a project with all its batches and keys to the database of another shard. New work is refused for at most 30 s, with Retry-After. If it is interrupted, run it again: it continues. Both URLs need the login that owns the tables.',
    )
    .argument('<project-id>', 'id of the project, as in the console')
    .option('--discard', 'only take it out of the source, a restored backup: the destination has the project already')
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://…/a DESTINATION_DATABASE_URL=postgres://…/b flywheel move-project 0198a3c2-…',
    )
    .action(async (projectId: string, { discard: isDiscarded = false }: { readonly discard?: boolean }) => {
      if (!UUID.test(projectId)) throw new CliError('ERR_USAGE', `${projectId} is not the id of a project.`);
      const { MoveRefused } = await import('@flywheel/service');
      try {
        const move = await withAdminOf(context, ({ moveProject }) =>
          moveProject(projectId, async (step) => output.note(STEPS[step]), { isDiscarded }),
        );
        output.result({ projectId, ...move }, `Project ${projectId} is in the destination now.`);
      } catch (error) {
        if (!(error instanceof MoveRefused)) throw error;
        throw new CliError('ERR_MOVE_REFUSED', error.message, { cause: error });
      }
    });
}

const STEPS = {
  refusing: 'The project refuses new work; waiting for what is at work…',
  departed: 'Its rows have left the source.',
  arrived: 'Its rows are in the destination.',
} as const;
