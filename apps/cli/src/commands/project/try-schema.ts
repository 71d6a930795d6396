import { CONSOLE_OPERATIONS } from '@flywheel/api';
import type { Command } from 'commander';
import { type Context, openConsole, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readJsonObject, readTextFile, readWallet } from '../../files.ts';
import { addUrlOption, addWalletOption } from '../../options.ts';

interface TrialOptions extends UrlOption {
  readonly wallet: string;
}

/** `flywheel project try-schema SCHEMA PAYLOAD` */
export function addTrySchemaCommand(project: Command, context: Context): void {
  const { output } = context;
  addUrlOption(addWalletOption(project.command('try-schema')))
    .summary('check a payload against a JSON Schema')
    .description(
      'Check a JSON Schema as proof-types does, and a payload against it as init does. Nothing is stored. Exits with 3 if one of them would be refused.',
    )
    .argument('<schema>', 'file with a JSON Schema (2020-12)')
    .argument('<payload>', 'file with a payload')
    .addHelpText('after', '\nExample:\n  flywheel project try-schema schema.json payload.json --wallet wallet.json')
    .action(async (schemaFile: string, payloadFile: string, options: TrialOptions) => {
      const payloadSchema = await readJsonObject(schemaFile, 'a JSON Schema');
      const payload = await readTextFile(payloadFile, 'Expected a payload.');
      const console = openConsole(context, options);
      await console.signIn(await readWallet(options.wallet));
      const trial = await console.call(CONSOLE_OPERATIONS.trySchema, { body: { payloadSchema, payload } });
      const { schemaProblem, payloadProblem } = trial;
      output.result(
        trial,
        [
          `Schema: ${schemaProblem ?? 'accepted'}`,
          ...(schemaProblem === null ? [`Payload: ${payloadProblem ?? 'accepted'}`] : []),
        ].join('\n'),
      );
      const problem = schemaProblem ?? payloadProblem;
      if (problem !== null) throw new CliError('ERR_PREVIEW_FAILED', problem);
    });
}
