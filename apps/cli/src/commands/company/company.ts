import {
  BATCH_OPERATIONS,
  COMPANY_OPERATIONS,
  type CompanyVerdict,
  mergeWaiting,
  POLICY_OPERATIONS,
  type ShardFailure,
  type WaitingBatch,
} from '@flywheel/api';
import { address, type BatchDecision, visibleText } from '@flywheel/protocol';
import type { Command } from 'commander';
import { confirmSigning } from '../../confirm.ts';
import type { ConsoleClient } from '../../console-client.ts';
import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { describeFailures } from '../../every-shard.ts';
import { layOutTable } from '../../format.ts';
import { parseId } from '../../options.ts';
import { addContentOption, readProposal, requireContent } from '../../proposal.ts';
import { describeApprovals } from '../batch/timeline.ts';
import {
  addDecisionOptions,
  addOperatorOptions,
  noteMissing,
  type OperatorOptions,
  openDesk,
  openOperator,
  signDecision,
} from './decide.ts';
import { addOverviewCommands } from './overview.ts';
import { addPolicyCommands } from './policy.ts';
import { addProjectDecisionCommands } from './projects.ts';
import { addTermsCommand } from './terms.ts';

interface BatchDecisionOptions extends OperatorOptions {
  readonly content?: string;
}

interface RejectOptions extends BatchDecisionOptions {
  readonly reason: string;
}

/** `flywheel company`: what the wallets of COMPANY_OPERATORS decide. */
export function addCompanyCommands(program: Command, context: Context): void {
  const company = program
    .command('company')
    .summary('decide for the company: batches, admissions, terms, pauses, rules')
    .description(
      'Decide for the company with the wallet of a company operator. Each command reads what it signs from the chain, and shows it first.',
    );
  addBatchDecisionCommands(company, context);
  addProjectDecisionCommands(company, context);
  addPolicyCommands(company, context);
  addTermsCommand(company, context);
  addOverviewCommands(company, context);
}

/** `flywheel company pending`, `approve` and `reject` */
function addBatchDecisionCommands(company: Command, context: Context): void {
  addPending(company, context);
  addContentOption(addDecisionOptions(company.command('approve')))
    .summary('approve a pending batch for the company')
    .description(
      'Read from the chain what a pending batch does, show it, and sign the approval of exactly that. The batch then executes.',
    )
    .argument('<batch-id>', 'id of the batch: flywheel company pending', parseId)
    .addHelpText('after', '\nExample:\n  flywheel company approve 0198a3c2-… --wallet operator.json')
    .action((batchId: string, options: BatchDecisionOptions) => decide(context, batchId, { options, reason: null }));
  addContentOption(addDecisionOptions(company.command('reject')))
    .summary('reject a pending batch for the company')
    .description(
      'Read from the chain what a pending batch does, show it, and sign its rejection. The batch fails without executing anything.',
    )
    .argument('<batch-id>', 'id of the batch: flywheel company pending', parseId)
    .requiredOption('--reason <text>', 'shown to the project, 1 to 500 characters')
    .addHelpText(
      'after',
      '\nExample:\n  flywheel company reject 0198a3c2-… --wallet operator.json --reason "Not agreed with us"',
    )
    .action((batchId: string, options: RejectOptions) => decide(context, batchId, { options, reason: options.reason }));
}

function addPending(company: Command, context: Context): void {
  const { output } = context;
  addOperatorOptions(company.command('pending'))
    .summary('list the batches that wait for the company')
    .description(
      'List the batches that wait for a person of the company, oldest first, as the service describes them. approve and reject read each from the chain.',
    )
    .addHelpText('after', '\nExample:\n  flywheel company pending --wallet operator.json')
    .action(async (options: OperatorOptions) => {
      const console = await openDesk(context, options);
      const { batches, missing } = await listWaiting(console);
      const { heading, lines } = layOutTable(
        ['BATCH', 'INDEX', 'KIND', 'PROJECT', 'BURNS', 'AIRDROPS', 'APPROVALS', 'SINCE'],
        batches.map(cellsOf),
        output.stdout,
      );
      output.result(
        { batches, ...noteMissing(context, console, missing) },
        lines.length === 0 ? 'No batches wait for the company.' : [heading, ...lines].join('\n'),
      );
    });
}

interface Queue {
  /** Oldest first. */
  readonly batches: readonly WaitingBatch[];
  /** The shards whose batches are not listed. */
  readonly missing: readonly ShardFailure[];
}

/** Lists the batches of every shard that wait for the company. */
async function listWaiting(console: ConsoleClient): Promise<Queue> {
  const asked = { query: {} };
  const { answers, failures: missing } = await console.callEach(COMPANY_OPERATIONS.listWaitingBatches, asked);
  return { batches: mergeWaiting(answers), missing };
}

function cellsOf(batch: WaitingBatch): string[] {
  const { id, batchIndex, kind = 'pipelines', projectId, burned, airdropped, approvals, requestedAt } = batch;
  const given = approvals ? `${approvals.given} of ${approvals.required}` : 'none';
  return [id, batchIndex, kind, projectId, burned, airdropped, given, requestedAt];
}

interface Verdict {
  readonly options: BatchDecisionOptions;
  /** Null approves. */
  readonly reason: string | null;
}

async function decide(context: Context, batchId: string, { options, reason }: Verdict): Promise<void> {
  const { output } = context;
  output.nameBatch({ batchId, idempotencyKey: null });
  const operator = await openOperator(context, options);
  const batch = await findWaiting(operator.console, batchId);
  const { batch: named } = await operator.console.call(BATCH_OPERATIONS.getBatchProgress, {
    params: { projectId: batch.projectId, batchId },
  });
  const { batchIndex } = batch;
  // The service says only which proposal is meant, and the text names it.
  const which = { multisig: named.multisig, batchIndex, isRotation: batch.kind === 'rotation' };
  const proposal = await readProposal(operator.rpcUrl, which);
  const { content, issues, facts, hash } = proposal;
  requireContent(proposal, options.content);
  if (reason === null && issues.length > 0) {
    throw new CliError('ERR_CLUSTER', `Nothing was signed: ${issues.join(' ')} Only a rejection can be signed.`);
  }
  const verb = reason === null ? 'approve' : 'reject';
  const review = await readReview(operator.console, batchId);
  await confirmSigning(context, [...issues, ...facts, ...review], {
    question: `Sign and ${verb} batch ${batchIndex}?`,
    isConfirmed: options.content !== undefined,
    option: `--content ${hash}`,
  });
  const subject: BatchDecision = {
    type: 'batch',
    decision: verb,
    reason,
    multisig: address(named.multisig),
    batchIndex: BigInt(batchIndex),
    content,
  };
  const signature = await signDecision(operator, subject);
  const params = { batchId };
  const verdict: CompanyVerdict =
    reason === null
      ? await operator.console.call(COMPANY_OPERATIONS.approveBatch, { params, body: signature })
      : await operator.console.call(COMPANY_OPERATIONS.rejectBatch, { params, body: { ...signature, reason } });
  output.result({ ...verdict, content: hash }, `Batch ${batchIndex} ${describeVerdict(verdict, reason)}`);
}

function describeVerdict({ approvals }: CompanyVerdict, reason: string | null): string {
  if (reason !== null) return 'rejected. The project can read the reason.';
  if (!approvals) return 'approved. It will be executed.';
  return `has ${approvals.given} of ${approvals.required} approvals. It waits for another operator.`;
}

/** Reads the rules that a batch meets, and what is unusual about it. These are the service's words, unlike the content. */
async function readReview(console: ConsoleClient, batchId: string): Promise<string[]> {
  const { rules, unusual, approvals } = await console.call(POLICY_OPERATIONS.reviewBatch, { params: { batchId } });
  const lines = [...rules, ...unusual].map(({ message }) => `  ${visibleText(message)}`);
  const given = approvals.required > 1 ? [`  ${describeApprovals(approvals)}.`] : [];
  return lines.length + given.length === 0 ? [] : ['The service says:', ...given, ...lines];
}

async function findWaiting(console: ConsoleClient, batchId: string): Promise<WaitingBatch> {
  const { answers, failures: missing } = await console.callEach(COMPANY_OPERATIONS.listWaitingBatches, {
    query: { batchId },
  });
  const [batch] = mergeWaiting(answers);
  if (batch) return batch;
  throw new CliError(
    'ERR_USAGE',
    `Batch ${batchId} does not wait for the company. See flywheel company pending.${describeFailures(missing)}`,
  );
}
