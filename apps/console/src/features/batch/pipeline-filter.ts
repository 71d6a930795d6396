import { decimalOf, groupDigits } from '@flywheel/protocol';
import type { BatchAction, ShownPipeline } from './batch-summary.ts';

/** A choice of the list of pipelines. */
export type PipelineChoice = 'all' | 'mismatches' | 'failed' | 'executed' | 'open' | 'burns' | 'airdrops' | 'memos';

export interface PipelineFilter {
  readonly choice: PipelineChoice;
  /** Text that the pipeline contains, in any case; empty for every pipeline. */
  readonly text: string;
}

/** The choices in the order in which they are offered. */
const CHOICES = {
  all: 'All pipelines',
  mismatches: 'With mismatches',
  failed: 'Failed',
  executed: 'Executed',
  open: 'Not executed',
  burns: 'With burns',
  airdrops: 'With airdrops',
  memos: 'With memos',
} as const satisfies Record<PipelineChoice, string>;

export interface OfferedChoice {
  readonly choice: PipelineChoice;
  readonly name: string;
  readonly count: number;
}

/** Lists the choices that leave some pipelines out and keep others, and `all`, each with its number of pipelines. */
export function offerChoices(
  pipelines: readonly ShownPipeline[],
  mismatched: ReadonlySet<number>,
): readonly OfferedChoice[] {
  const offered = Object.entries(CHOICES) as [PipelineChoice, string][]; // a record's keys are its choices
  return offered
    .map(([choice, name]) => ({
      choice,
      name,
      count: pipelines.filter((pipeline, position) => isOf(choice, pipeline, mismatched.has(position))).length,
    }))
    .filter(({ choice, count }) => choice === 'all' || (count > 0 && count < pipelines.length));
}

/** Finds the zero-based positions of the pipelines that a filter keeps, in order. */
export function filterPipelines(
  pipelines: readonly ShownPipeline[],
  { choice, text }: PipelineFilter,
  mismatched: ReadonlySet<number>,
): readonly number[] {
  const wanted = text.trim().toLowerCase();
  return pipelines.flatMap((pipeline, position) =>
    isOf(choice, pipeline, mismatched.has(position)) && contains(pipeline, position, wanted) ? [position] : [],
  );
}

function isOf(choice: PipelineChoice, { actions, state }: ShownPipeline, isMismatched: boolean): boolean {
  const has = (kind: BatchAction['action']) => actions.some(({ action }) => action === kind);
  switch (choice) {
    case 'all':
      return true;
    case 'mismatches':
      return isMismatched;
    case 'failed':
    case 'executed':
      return state === choice;
    case 'open':
      return state === 'waiting' || state === 'skipped';
    case 'burns':
      return has('BURN');
    case 'airdrops':
      return has('AIRDROP');
    case 'memos':
      return has('MEMO');
    default:
      return choice satisfies never;
  }
}

/** Searches what a pipeline’s card shows: position, type, payload, signature and actions. */
function contains(pipeline: ShownPipeline, position: number, wanted: string): boolean {
  if (wanted === '') return true;
  const { type, payload, signature = '', actions } = pipeline;
  if (wanted === String(position)) return true;
  return [type, payload, signature, ...actions.flatMap(textsOf)].some((text) => text.toLowerCase().includes(wanted));
}

function textsOf(action: BatchAction): readonly string[] {
  switch (action.action) {
    case 'BURN':
      return amountTexts(decimalOf(action.amount));
    case 'AIRDROP':
      return [action.toAddress, ...amountTexts(decimalOf(action.amount))];
    case 'MEMO':
      return [action.message];
    case 'WITHDRAW':
      return [action.toAddress, ...amountTexts(action.amount)];
    case 'ROTATE':
      return [action.from, action.to];
    default:
      return action satisfies never;
  }
}

/** An amount as people type it, and as the card shows it: `1000` and `1,000`. */
function amountTexts(decimal: string): readonly string[] {
  return [decimal, groupDigits(decimal)];
}
