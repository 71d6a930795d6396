import { isAddress, NOT_AN_ADDRESS, pluralize } from '@flywheel/protocol';

import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError } from '../errors.ts';
import { withAdminOf } from './jobs.ts';

/** `flywheel recover-operator`: for administrators, on the service’s database, after the operator’s key was lost. */
export function addRecoverOperatorCommand(program: Command, context: Context): void {
  const { output } = context;
  program
    .command('recover-operator')
    .summary('let the recovery keys act for a lost operator')
    .description(
      'Let the recovery keys act for an operator whose key is lost. Open batches that only it could pay for end, and the operator can be replaced with OPERATOR_SIGNER_PREVIOUS set to the recovery key. Safe to repeat. Uses the settings of flywheel work, and the DATABASE_URL of flywheel migrate.',
    )
    .argument('<address>', 'address of the lost operator')
    .addHelpText(
      'after',
      '\nExample:\n  DATABASE_URL=postgres://… SOLANA_RPC_URL=https://… OPERATOR_ADDRESS=… COMPANY_ADDRESS=… flywheel recover-operator 7Fq2…',
    )
    .action(async (lost: string) => {
      if (!isAddress(lost)) throw new CliError('ERR_USAGE', `${lost} ${NOT_AN_ADDRESS}`);
      const recovery = await withAdminOf(context, ({ recoverOperator }) => recoverOperator(lost));
      const { recovered, locked, mismatched, retiredNonces } = recovery;
      const lines = [
        recovered.length + locked.length + mismatched.length === 0
          ? `No project has the operator ${lost}.`
          : `The recovery key acts for ${pluralize(recovered.length, 'project')} now. Next: replace the operator in the settings of each (docs/operating.md).`,
        ...mismatched.map(({ projectId, reason }) => `Project ${projectId} stays as it was: ${reason}`),
        ...locked.map((id) => `Project ${id} has no recovery key: its vault stays locked without the operator’s key.`),
        ...(retiredNonces === 0
          ? []
          : [`${pluralize(retiredNonces, 'nonce')} of the lost operator removed from the pool.`]),
      ];
      output.result(recovery, lines.join('\n'));
      if (mismatched.length === 0) return;
      const message = `The chain contradicts the database about ${pluralize(mismatched.length, 'project')}. Workers record a replacement that was executed last: start them, then run the command again.`;
      throw new CliError('ERR_UNHEALTHY', message);
    });
}
