import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { addBatchDecisionCommands } from './batches.ts';
import { addProjectDecisionCommands } from './projects.ts';

/** `flywheel company`: what the wallets of COMPANY_OPERATORS decide. */
export function addCompanyCommands(program: Command, context: Context): void {
  const company = program
    .command('company')
    .summary('decide for the company: batches, admissions, pauses')
    .description(
      'Decide for the company with the wallet of an operator. What is signed is shown before, as the chain has it.',
    );
  addBatchDecisionCommands(company, context);
  addProjectDecisionCommands(company, context);
}
