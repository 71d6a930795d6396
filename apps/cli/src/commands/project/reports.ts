import { CONSOLE_OPERATIONS, DEFAULT_USAGE_DAYS, MAX_USAGE_DAYS } from '@flywheel/api';
import { groupDigits } from '@flywheel/protocol';
import type { Command } from 'commander';
import { AUDIT_PAGE, describeAuditLog } from '../../audit-log.ts';
import type { Context } from '../../context.ts';
import { layOutTable } from '../../format.ts';
import { parseWholeNumber } from '../../options.ts';
import { addProjectOptions, type ProjectOptions, signIn } from './sign-in.ts';

interface UsageOptions extends ProjectOptions {
  readonly days?: number;
}

interface HistoryOptions extends ProjectOptions {
  readonly cursor?: string;
}

/** `flywheel project usage` and `history` */
export function addReportCommands(project: Command, context: Context): void {
  const { output } = context;
  addProjectOptions(project.command('usage'))
    .summary('show burned and airdropped amounts per day')
    .description('Show the burned and airdropped amounts of each UTC day, amounts of open batches included.')
    .option(
      '--days <number>',
      `number of days, 1 to ${MAX_USAGE_DAYS}; default: ${DEFAULT_USAGE_DAYS}`,
      parseWholeNumber(1, MAX_USAGE_DAYS),
    )
    .addHelpText('after', '\nExample:\n  flywheel project usage --wallet wallet.json --days 7')
    .action(async ({ days = DEFAULT_USAGE_DAYS, ...options }: UsageOptions) => {
      const { console, projectId } = await signIn(context, options);
      const asked = { params: { projectId }, query: { days: String(days) } };
      const usage = await console.call(CONSOLE_OPERATIONS.getUsage, asked);
      const rows = usage.days.map(({ day, burned, airdropped }) => [day, groupDigits(burned), groupDigits(airdropped)]);
      const { heading, lines } = layOutTable(['DAY', 'BURNED', 'AIRDROPPED'], rows, output.stdout);
      output.result(usage, [heading, ...lines].join('\n'));
    });
  addProjectOptions(project.command('history'))
    .summary('show who changed what')
    .description('Print the history of the project, newest first, a page at a time.')
    .option('--cursor <cursor>', 'the next page, as the page before names it')
    .addHelpText('after', '\nExample:\n  flywheel project history --wallet wallet.json')
    .action(async ({ cursor, ...options }: HistoryOptions) => {
      const { console, projectId } = await signIn(context, options);
      const query = { limit: AUDIT_PAGE, ...(cursor !== undefined && { cursor }) };
      const page = await console.call(CONSOLE_OPERATIONS.listProjectHistory, { params: { projectId }, query });
      output.result(page, describeAuditLog(page, output.stdout));
    });
}
