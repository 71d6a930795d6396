import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { interruptible } from '../../interrupt.ts';
import { createProgress } from '../../progress.ts';
import { readRequestFile } from '../../request-file.ts';
import type { DemoStep } from './demo.ts';
import { describeDemo } from './summary.ts';

interface DemoOptions {
  readonly file: string;
}

const REWARDS_FILE = fileURLToPath(new URL('../../../../../examples/rewards.json', import.meta.url));
const STEPS: { readonly [Step in DemoStep]: string } = {
  start: 'Start database, cluster and service',
  token: 'Create a token',
  register: 'Register a project',
  fund: 'Fund vault and wallets',
  compile: 'Compile',
  setUp: 'Set up on chain',
  approve: 'Approve by both parties',
  execute: 'Execute',
  verify: 'Verify on chain',
};

/** `flywheel demo`: the main job on this machine alone, verified by reads of its own. */
export function addDemoCommand(program: Command, context: Context): void {
  program
    .command('demo')
    .summary('the main job end to end, verified on chain')
    .description(
      'Start a database, a local cluster and the service in a temporary directory; create a token, register a project, fund its vault; then compile, approve and execute the pipelines of a file, and verify every burn, airdrop and proof on chain. Leaves nothing behind. Exits with 0 only if all of it is true.',
    )
    .option('--file <file>', 'another init request than examples/rewards.json', REWARDS_FILE)
    .addHelpText('after', '\nExample:\n  flywheel demo --json | jq .verification.ok')
    .action(async ({ file }: DemoOptions) => {
      const { output, environment } = context;
      const requestText = await readRequestFile(file);
      const progress = createProgress(output, STEPS);
      // Loaded only here: it brings the whole service with it.
      const { runDemo } = await import('./demo.ts');
      const report = await interruptible((signal) => runDemo({ environment, requestText, progress, signal })).finally(
        () => progress.close(),
      );
      const { batch, verification } = report;
      output.result({ batch, results: batch.executeResult ?? null, verification }, describeDemo(report, output.stdout));
      if (!verification.ok) throw new CliError('ERR_DEMO_FAILED', verification.problems.join(' '));
    });
}
