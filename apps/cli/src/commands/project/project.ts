import type { ProofType } from '@flywheel/api';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { addProofType } from '../../proof-type.ts';
import { describeProject, describeSettings } from './describe-project.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';

interface LimitsOptions extends ProjectOptions {
  readonly burn?: string;
  readonly airdrop?: string;
}

interface ProofTypesOptions extends ProjectOptions {
  readonly add: readonly ProofType[];
  readonly remove: readonly string[];
  readonly any?: boolean;
}

/** `flywheel project show`, `limits` and `proof-types` */
export function addProjectCommands(program: Command, context: Context): void {
  const { output } = context;
  const project = program
    .command('project')
    .summary('see a project; change its limits and proof types')
    .description('A project, by its wallet.');

  addProjectOptions(project.command('show'))
    .summary('its vault, its limits, and what needs you')
    .description('What its vault holds and lacks, what today’s limits have left, and what needs you.')
    .addHelpText('after', '\nExample:\n  flywheel project show --wallet wallet.json')
    .action(async (options: ProjectOptions) => {
      const { console, projectId } = await signIn(context, options);
      const found = await console.readProject(projectId);
      output.result(found, describeProject(found, output.stdout));
    });

  addProjectOptions(project.command('limits'))
    .summary('show or change the daily limits')
    .description('Show the daily limits, or change them from the next init on; open batches keep what they reserved.')
    .option('--burn <tokens>', 'whole tokens that may be burned per UTC day')
    .option('--airdrop <tokens>', 'whole tokens that may be airdropped per UTC day')
    .addHelpText('after', '\nExample:\n  flywheel project limits --wallet wallet.json --airdrop 5000')
    .action(async ({ burn, airdrop, ...options }: LimitsOptions) => {
      const { console, projectId } = await signIn(context, options);
      const before = await console.readSettings(projectId);
      const isChange = burn !== undefined || airdrop !== undefined;
      const limits = { burnLimit: burn ?? before.burnLimit, airdropLimit: airdrop ?? before.airdropLimit };
      const settings = isChange ? await console.changeLimits(projectId, limits) : before;
      output.result(settings, describeSettings(settings, isChange ? before : null, output.stdout));
    });

  addProjectOptions(project.command('proof-types'))
    .summary('show or change the pipeline types')
    .description('Show the pipeline types that are allowed, or change them from the next init on.')
    .option('--add <type[:description]>', 'allow this type, or describe it anew; repeat for more', addProofType, [])
    .option('--remove <type>', 'allow this type no longer; repeat for more', addWord, [])
    .option('--any', 'allow every well-formed type: the list is emptied')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel project proof-types --wallet wallet.json --add "REFERRAL:A friend who joined" --remove LOTTERY',
    )
    .action(async ({ add, remove, any = false, ...options }: ProofTypesOptions) => {
      const isChange = add.length > 0 || remove.length > 0;
      if (any && isChange)
        throw new CliError('ERR_USAGE', '--any empties the list: say it without --add and --remove.');
      const { console, projectId } = await signIn(context, options);
      const before = await console.readSettings(projectId);
      const settings =
        any || isChange
          ? await console.changeProofTypes(projectId, any ? [] : changedTypes(before.proofTypes, add, remove))
          : before;
      output.result(settings, describeSettings(settings, any || isChange ? before : null, output.stdout));
    });
}

function addWord(word: string, previous: readonly string[]): readonly string[] {
  return [...previous, word];
}

function changedTypes(before: readonly ProofType[], add: readonly ProofType[], remove: readonly string[]): ProofType[] {
  const missing = remove.find((type) => !before.some((known) => known.type === type));
  if (missing !== undefined) {
    const known = before.map(({ type }) => type).join(', ') || 'none: every type is';
    throw new CliError('ERR_USAGE', `${missing} is not among the allowed types. Allowed by name: ${known}.`);
  }
  const kept = before.filter(({ type }) => !remove.includes(type));
  const described = kept.map((known) => ({ ...known, ...add.find(({ type }) => type === known.type) }));
  const added = add.filter(({ type }) => !kept.some((known) => known.type === type));
  const types = [...described, ...added];
  if (types.length > 0) return types;
  // An empty list allows everything, which nobody means who removes the last type.
  throw new CliError('ERR_USAGE', 'That would remove the last type, and so allow every one. Say --any if you mean it.');
}
