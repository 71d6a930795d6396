import { isUuid } from '@flywheel/api';
import type { MoveStep } from '@flywheel/service';
import type { Command } from 'commander';
import { confirmEffect } from '../confirm.ts';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { withAdminOf } from './jobs.ts';

/** `flywheel move-project`: for administrators, on the databases of two shards. */
export function addMoveProjectCommand(program: Command, context: Context): void {
  const { output } = context;
  program
    .command('move-project')
    .summary('move a project to another shard')
    .description(
      'Move a project with all its batches and keys to the database of another shard. Settled batches are copied first; then new work is refused for at most 30 s, with Retry-After. If it is interrupted, run it again: it continues. Both URLs need the login that owns the tables.',
    )
    .argument('<project-id>', 'id of the project, as in the console')
    .option('--discard', 'only take it out of the source, a restored backup: the destination has the project already')
    .option('--destination-restored', 'continue in the destination, restored from a backup made before its first move')
    .option('--yes', 'discard, or continue in a restored destination, without asking')
    .option('--abandon', 'only remove from the destination what was copied there: the project stays in the source')
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://…/a DESTINATION_DATABASE_URL=postgres://…/b flywheel move-project 0198a3c2-…',
    )
    .action(async (projectId: string, options: Options) => {
      const { discard: isDiscarded = false, abandon: isAbandoned = false, yes } = options;
      const { destinationRestored: isDestinationRestored = false } = options;
      if (!isUuid(projectId)) throw new CliError('ERR_USAGE', `${projectId} is not the id of a project.`);
      if ([isDiscarded, isAbandoned, isDestinationRestored].filter(Boolean).length > 1) {
        throw new CliError('ERR_USAGE', 'Give only one of --discard, --abandon and --destination-restored.');
      }
      if (isDiscarded) await confirmEffect(context, describeDiscard(projectId), { question: 'Discard it?', yes });
      if (isDestinationRestored)
        await confirmEffect(context, describeRestored(projectId), { question: 'Continue there?', yes });
      const { MoveRefused } = await import('@flywheel/service');
      try {
        if (isAbandoned) {
          await withAdminOf(context, ({ abandonMove }) => abandonMove(projectId));
          return output.result({ projectId }, `The destination has nothing of project ${projectId}.`);
        }
        const move = await withAdminOf(context, ({ moveProject }) =>
          moveProject(projectId, noteOnce(output), { isDiscarded, isDestinationRestored }),
        );
        output.result({ projectId, ...move }, `Project ${projectId} is in the destination now.`);
      } catch (error) {
        if (!(error instanceof MoveRefused)) throw error;
        throw new CliError('ERR_MOVE_REFUSED', error.message, { cause: error });
      }
    });
}

interface Options {
  readonly discard?: boolean;
  readonly abandon?: boolean;
  readonly destinationRestored?: boolean;
  readonly yes?: boolean;
}

function describeDiscard(projectId: string): string {
  return `Project ${projectId} is deleted from the source, the database of DATABASE_URL, with all its batches and keys there; this cannot be undone.`;
}

function describeRestored(projectId: string): string {
  return `The interrupted move of project ${projectId} continues in the database of DESTINATION_DATABASE_URL. If the project is in another database already, both shards work on it.`;
}

/** Notes each step once: a past is copied in many. */
function noteOnce(output: Context['output']): (step: MoveStep) => Promise<void> {
  const noted = new Set<MoveStep>();
  return async (step) => {
    if (!noted.has(step)) output.note(STEPS[step]);
    noted.add(step);
  };
}

const STEPS = {
  copied: 'Settled batches are copied; the project takes work meanwhile…',
  refusing: 'The project refuses new work; waiting for what is at work…',
  departed: 'Its rows have left the source.',
  arrived: 'Its rows are in the destination.',
} as const;
