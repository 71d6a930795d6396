import {
  type BatchContent,
  contentHash,
  describeInstruction,
  pluralize,
  summarizeContent,
  visibleText,
} from '@flywheel/protocol';
import { readProposalContent } from '@flywheel/sdk';
import type { Command } from 'commander';
import { CliError } from './errors.ts';

/** The effects of a proposal as the chain holds it, for a person who decides about it. */
export interface ShownProposal {
  readonly content: BatchContent;
  /** Lowercase hex SHA-256 of the content. */
  readonly hash: string;
  /** Reasons against an approval, a sentence each. */
  readonly issues: readonly string[];
  /** Lines to print before something is signed. */
  readonly facts: readonly string[];
}

/** Reads a proposal at a node of the reader's choice. No claim of the service is used, except which proposal is meant. */
export async function readProposal(
  rpcUrl: string,
  proposal: Parameters<typeof readProposalContent>[1],
  signal?: AbortSignal,
): Promise<ShownProposal> {
  const { content, issues } = await readProposalContent(rpcUrl, proposal, { signal });
  const { effects, pipelines, recipients } = summarizeContent(content);
  const hash = contentHash(content);
  const instructions = 'pipelines' in content ? content.pipelines.flat().map((each) => describeInstruction(each)) : [];
  const facts = [
    `On chain, batch ${proposal.batchIndex} of the multisig ${proposal.multisig}:`,
    ...(effects.length === 0 ? ['  Moves nothing'] : effects.map((effect) => `  ${effect}`)),
    `  ${pluralize(recipients, 'recipient')}, ${pluralize(pipelines, 'pipeline')}`,
    ...instructions.slice(0, MAX_SHOWN).map(({ program, text }) => `    ${program} ${visibleText(text)}`),
    ...(instructions.length > MAX_SHOWN
      ? [`    and ${instructions.length - MAX_SHOWN} more: the sums above and the content below cover all`]
      : []),
    `  Content: ${hash}`,
  ];
  return { content, hash, issues, facts };
}

/** About two screens. */
const MAX_SHOWN = 60;

/** Adds `--content`. */
export function addContentOption(command: Command): Command {
  return command.option('--content <hash>', 'sign without asking if the batch on chain has this content');
}

/** @throws CliError `ERR_USAGE` if `--content` names another content than the chain has. */
export function requireContent({ hash }: ShownProposal, named: string | undefined): void {
  if (named === undefined || named === hash) return;
  throw new CliError('ERR_USAGE', `Nothing was signed: the batch on chain has the content ${hash}, not ${named}.`);
}
