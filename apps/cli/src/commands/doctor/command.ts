import process from 'node:process';
import type { Command } from 'commander';
import packageFile from '../../../package.json' with { type: 'json' };
import { type Context, serviceUrl, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { count } from '../../words.ts';
import { describeFindings } from './describe-findings.ts';

/** `flywheel doctor`: what stands against the service running in this environment. */
export function addDoctorCommand(program: Command, context: Context): void {
  program
    .command('doctor')
    .summary('say what stands against the service running here')
    .description(
      'Look at everything that a service of this environment needs: configuration, database, cluster, signers, balance, nonces, workers, jobs. Changes none of it. A line each: ✓ well, ! worth a look, ✗ broken, with what to do. Exits with 3 when anything is broken.',
    )
    .option('--url <url>', 'where the service answers, else FLYWHEEL_URL, else HOST and PORT')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… flywheel doctor')
    .action(async ({ url }: UrlOption) => {
      const { environment, output } = context;
      // Loaded only here: it brings the whole service with it.
      const { diagnose } = await import('./diagnose.ts');
      const isNamed = url !== undefined || environment.FLYWHEEL_URL !== undefined;
      const findings = await diagnose({
        environment,
        url: isNamed ? serviceUrl(context, { ...(url !== undefined && { url }) }) : null,
        versions: { flywheel: packageFile.version, node: process.versions.node },
      });
      const failed = findings.filter(({ state }) => state === 'failure').length;
      const isHealthy = failed === 0;
      output.result({ ok: isHealthy, findings }, describeFindings(findings, output.stdout));
      if (!isHealthy) throw new CliError('ERR_UNHEALTHY', `${failed} of ${count(findings.length, 'check')} failed.`);
    });
}
