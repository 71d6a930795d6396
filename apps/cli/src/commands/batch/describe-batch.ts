import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Batch, BatchStatus, BundleExecution } from '@flywheel/api';
import { pluralize, shorten } from '@flywheel/protocol';
import { CliError } from '../../errors.ts';
import { layOutPairs } from '../../format.ts';

const MARKS: {
  readonly [S in BatchStatus]: { readonly mark: string; readonly color: 'yellow' | 'cyan' | 'green' | 'red' };
} = {
  AVAILABLE_TO_QUEUE: { mark: '◔', color: 'cyan' },
  FINALIZED: { mark: '◑', color: 'yellow' },
  EXECUTED: { mark: '●', color: 'green' },
  FAILED: { mark: '✗', color: 'red' },
};

/** Describes a batch for people: its status, its addresses, its results and the next step. */
export function describeBatch(batch: Batch, stream: Writable): string {
  const { mark, color } = MARKS[batch.status];
  const rows: [string, string][] = [
    ['token', batch.mintAddress],
    ['multisig', `${batch.multisig}, batch index ${batch.batchIndex}`],
    ['vault', batch.vaultAddress],
    ['created', batch.dateCreated],
  ];
  if (batch.initResult) rows.push(['set up', describeSetup(batch.initResult)]);
  if (batch.executeResult) rows.push(['executed', describeExecution(batch.executeResult)]);
  // A batch that was cancelled before its setup has the same message in both results.
  const failures = new Set([batch.initResult?.failedTxMsg, batch.executeResult?.failedTxMsg]);
  for (const message of failures) if (message) rows.push(['failed', message]);
  if (batch.executionError) rows.push([batch.executionError.code, batch.executionError.message]);
  return [
    `${styleText(color, `${mark} ${batch.status}`, { stream })}  batch ${batch.id}`,
    ...layOutPairs(rows, stream),
    ...nextStepOf(batch).map((line) => `  ${line}`),
  ].join('\n');
}

function describeSetup({ totalSuccessful, total, successfulExecutions }: NonNullable<Batch['initResult']>): string {
  return `${totalSuccessful} of ${pluralize(total, 'transaction')}${describeBundles(successfulExecutions)}`;
}

function describeExecution(result: NonNullable<Batch['executeResult']>): string {
  return `${result.totalSuccessful} of ${pluralize(result.total, 'pipeline')}${describeBundles(result.successfulExecutions)}`;
}

function describeBundles(bundles: readonly BundleExecution[]): string {
  if (bundles.length === 0) return '';
  const signatures = bundles.flatMap(({ txHashes }) => txHashes);
  const shown = signatures.slice(0, 3).map(shorten).join(' ');
  return `, ${pluralize(signatures.length, 'signature')}: ${shown}${signatures.length > 3 ? ' …' : ''}`;
}

function nextStepOf({ id, status, executionError, awaitsCompany }: Batch): string[] {
  switch (status) {
    case 'AVAILABLE_TO_QUEUE':
      return [`Being set up on chain. Follow it with flywheel status ${id} --watch.`];
    case 'FINALIZED':
      if (awaitsCompany) return ['Approved. A person of the company decides now.'];
      return executionError
        ? []
        : [`Pending approval or execution. To approve: flywheel sign, then flywheel execute ${id} SIGNED_TX.`];
    case 'EXECUTED':
      return [];
    case 'FAILED':
      return [
        'This status is final. Unused daily amounts are free again; send the remaining pipelines in a new batch.',
      ];
    default:
      return status satisfies never;
  }
}

/** @throws CliError `ERR_BATCH_FAILED` with the reason, if the batch has failed. */
export function requireNotFailed(batch: Batch): void {
  if (batch.status === 'FAILED') throw new CliError('ERR_BATCH_FAILED', describeFailure(batch));
}

/** A sentence: the failed batch and the reason. */
export function describeFailure({ id, executeResult, initResult, executionError }: Batch): string {
  const reason = executeResult?.failedTxMsg ?? initResult?.failedTxMsg ?? executionError?.message;
  return `Batch ${id} failed${reason ? `: ${reason}` : '.'}`;
}
