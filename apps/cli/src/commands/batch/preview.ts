import { isWait, type PreviewBatchResponse } from '@flywheel/api';
import { groupDigits, pluralize } from '@flywheel/protocol';
import type { Command } from 'commander';
import { type Context, openClient, type UrlOption } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { readRequestFile } from '../../files.ts';
import { formatSol, layOutPairs } from '../../format.ts';
import { addRequestArgument, addUrlOption } from '../../options.ts';

/** `flywheel preview FILE` */
export function addPreviewCommand(program: Command, context: Context): void {
  const { output } = context;
  const command = addRequestArgument(program.command('preview'))
    .summary('check a batch and its cost without creating it')
    .description(
      'Check the pipelines in FILE as init and execute would: limits, the vault’s funds, recipients, a simulation of each pipeline. Print the cost and everything that would stop the batch now; create nothing. Exits with 3 if something would.',
    );
  addUrlOption(command)
    .addHelpText('after', '\nExample:\n  flywheel preview examples/rewards.json')
    .action(async (file: string, options: UrlOption) => {
      const client = openClient(context, options);
      const preview = await client.previewBatch(await readRequestFile(file));
      output.result(preview, describePreview(preview, context));
      const [problem, ...others] = preview.problems;
      if (problem === undefined) return;
      const place = output.json ? 'in problems on stdout' : 'above';
      const more = others.length > 0 ? ` ${pluralize(others.length, 'more issue')} ${place}.` : '';
      throw new CliError('ERR_PREVIEW_FAILED', `The batch would fail now: ${sentenceOf(problem)}${more}`);
    });
}

function describePreview(
  { pipelines, problems, rules = [], warnings = [], funds, limits, cost }: PreviewBatchResponse,
  { output }: Context,
) {
  const largest = pipelines.toSorted((a, b) => b.bytes - a.bytes)[0];
  const size = largest ? `, the largest of ${largest.bytes} of ${largest.maxBytes} bytes` : '';
  const rows: [string, string][] = [
    ['pipelines', `${pipelines.length}${size}`],
    ['burns', describeLimit(limits.burn)],
    ['airdrops', describeLimit(limits.airdrop)],
    ['vault', describeFunds(funds)],
    ['fees', `${formatSol(cost.operatorNetLamports)}, paid by the operator`],
    [
      'rent',
      `${formatSol(cost.vaultRentLamports)} of the vault for token accounts; ${formatSol(cost.rentLockedLamports)} of the operator, which comes back`,
    ],
  ];
  return [
    ...layOutPairs(rows, output.stdout),
    ...rules.filter(isWait).map(({ message }) => `  ! ${message}`),
    ...warnings.map(({ message }) => `  ! ${message}`),
    ...problems.map((problem) => `  ✗ ${problem.code}  ${sentenceOf(problem)}`),
  ].join('\n');
}

function describeLimit({ asked, left, resetsAt }: PreviewBatchResponse['limits']['burn']): string {
  return `${groupDigits(asked)} of ${groupDigits(left)} tokens left until ${resetsAt}`;
}

function describeFunds({ tokens, lamports }: PreviewBatchResponse['funds']): string {
  return `needs ${groupDigits(tokens.needed)} of ${groupDigits(tokens.available)} tokens, ${formatSol(lamports.needed)} of ${formatSol(lamports.available)}`;
}

function sentenceOf({ place, message }: PreviewBatchResponse['problems'][number]): string {
  return place === undefined ? message : `${place}: ${message}`;
}
