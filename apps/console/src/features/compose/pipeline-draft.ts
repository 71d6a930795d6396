import { type Action, findPayloadIssue, type Pipeline, PROOF_TYPE } from '@flywheel/api';
import {
  findDigitsIssue,
  groupDigits,
  isPlainDecimal,
  MAX_PIPELINE_BYTES,
  MAX_PIPELINE_INSTRUCTIONS,
  toBaseUnits,
} from '@flywheel/protocol';
import { type PipelineSize, pipelineSize } from '@flywheel/sdk';
import { walletAddressError } from '../../lib/wallet/address.ts';

export type ActionKind = Action['action'];

/** An action while it is edited; the amount stays text. */
export interface ActionDraft {
  readonly key: string;
  readonly kind: ActionKind;
  readonly amount: string;
  readonly toAddress: string;
  readonly message: string;
}

export interface PipelineDraft {
  readonly key: string;
  readonly type: string;
  readonly payload: string;
  readonly actions: readonly ActionDraft[];
}

/** Rules of the project that a draft must follow. The service checks payloads by their schemas. */
interface DraftRules {
  readonly decimals: number;
}

/** Creates an empty burn, the most common action. */
export function newAction(): ActionDraft {
  return { key: crypto.randomUUID(), kind: 'BURN', amount: '', toAddress: '', message: '' };
}

/** Creates a pipeline with one empty action. Most batches have one type, so callers pass that of the previous pipeline. */
export function newPipeline(type: string): PipelineDraft {
  return { key: crypto.randomUUID(), type, payload: '{}', actions: [newAction()] };
}

/** Reads a draft as a pipeline, or returns its first issue as a sentence. */
export function readPipeline(draft: PipelineDraft, rules: DraftRules): Pipeline | { readonly issue: string } {
  const issue =
    typeIssue(draft.type) ??
    payloadIssue(draft) ??
    (draft.actions.length === 0 ? 'The pipeline has no actions.' : null) ??
    draft.actions.map((action) => actionIssue(action, rules)).find((found) => found !== null) ??
    null;
  if (issue !== null) return { issue };
  const pipeline = { type: draft.type, payload: draft.payload, actions: draft.actions.map(readAction) };
  const tooBig = sizeIssue(pipelineSize(pipeline));
  return tooBig === null ? pipeline : { issue: tooBig };
}

/** Compares a size with what one transaction takes; returns the issue in words, or null. */
export function sizeIssue({ bytes, instructions }: PipelineSize): string | null {
  if (bytes > MAX_PIPELINE_BYTES) return `${bytes} bytes; one transaction holds ${MAX_PIPELINE_BYTES}`;
  if (instructions <= MAX_PIPELINE_INSTRUCTIONS) return null;
  return `${instructions} instructions; one transaction runs ${MAX_PIPELINE_INSTRUCTIONS}`;
}

/** Checks a proof type; returns the issue as a sentence, or null. */
export function typeIssue(type: string): string | null {
  return PROOF_TYPE.test(type) ? null : 'The type must have 1 to 64 characters: A–Z, a–z, 0–9, _ or -.';
}

function actionIssue(action: ActionDraft, rules: DraftRules): string | null {
  if (action.kind === 'MEMO') return action.message === '' ? 'The memo is empty.' : null;
  return recipientIssue(action) ?? amountIssue(action, rules);
}

/** Checks the recipient of an airdrop; returns the issue as a sentence, or null. */
export function recipientIssue({ kind, toAddress }: ActionDraft): string | null {
  if (kind !== 'AIRDROP') return null;
  return toAddress === '' ? 'Enter the recipient’s wallet.' : walletAddressError(toAddress);
}

/** Checks an amount; returns the issue as a sentence, or null. */
export function amountIssue({ amount }: ActionDraft, { decimals }: DraftRules): string | null {
  if (!isPlainDecimal(amount)) return 'Enter a number of tokens without commas, for example 1000 or 0.5.';
  const baseUnits = toBaseUnits(amount, decimals);
  if (baseUnits === null) return `The token has ${decimals} decimals; ${amount} has more.`;
  if (baseUnits === 0n) return 'The amount must be more than zero.';
  const issue = findDigitsIssue(amount);
  return issue === null ? null : `${groupDigits(amount)} ${issue}`;
}

/** Reads an action without checking it, so that the size of a half-written pipeline can be measured. */
export function readAction({ kind, amount, toAddress, message }: ActionDraft): Action {
  switch (kind) {
    case 'BURN':
      return { action: 'BURN', amount: Number(amount) };
    case 'AIRDROP':
      return { action: 'AIRDROP', toAddress, amount: Number(amount) };
    case 'MEMO':
      return { action: 'MEMO', message };
    default:
      return kind satisfies never;
  }
}

function payloadIssue({ payload }: PipelineDraft): string | null {
  const problem = findPayloadIssue(payload);
  return problem === null ? null : `The payload ${problem}`;
}
