import { type Action, MAX_PAYLOAD_BYTES, type Pipeline, type ProofType } from '@flywheel/api';
import { toBaseUnits } from '@flywheel/sdk';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { withSeparators } from '../../lib/text/amount.ts';
import { checkPayload } from '../proof-types/check-payload.ts';

export type ActionKind = Action['action'];

/** An action as it is being written: amounts stay text. */
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

/** What the project allows a draft. */
interface DraftRules {
  readonly decimals: number;
  /** Empty: every well-formed type. */
  readonly proofTypes: readonly ProofType[];
}

/** A burn of nothing yet: the commonest. */
export function newAction(): ActionDraft {
  return { key: crypto.randomUUID(), kind: 'BURN', amount: '', toAddress: '', message: '' };
}

/** @param type as the one before it: most batches are of one type. */
export function newPipeline(type: string): PipelineDraft {
  return { key: crypto.randomUUID(), type, payload: '{}', actions: [newAction()] };
}

/** The pipeline that a draft makes, or what stands against it. */
export function readPipeline(draft: PipelineDraft, rules: DraftRules): Pipeline | { readonly problem: string } {
  const problem =
    typeProblem(draft.type) ??
    payloadProblem(draft, rules) ??
    (draft.actions.length === 0 ? 'It has no action.' : null) ??
    draft.actions.map((action) => actionProblem(action, rules)).find((found) => found !== null) ??
    null;
  if (problem !== null) return { problem };
  return { type: draft.type, payload: draft.payload, actions: draft.actions.map(readAction) };
}

/** Why a type cannot be sent, or null. */
export function typeProblem(type: string): string | null {
  return /^[A-Za-z0-9_-]{1,64}$/.test(type) ? null : 'The type is 1 to 64 of A-Z a-z 0-9 _ -.';
}

/** Why an action cannot be sent, or null. */
function actionProblem(action: ActionDraft, rules: Pick<DraftRules, 'decimals'>): string | null {
  if (action.kind === 'MEMO') return action.message === '' ? 'The memo is empty.' : null;
  return recipientProblem(action) ?? amountProblem(action, rules);
}

/** Why an airdrop cannot go where it is to go, or null. */
export function recipientProblem({ kind, toAddress }: ActionDraft): string | null {
  if (kind !== 'AIRDROP') return null;
  if (!isAddress(toAddress)) return 'The recipient is no address.';
  return isOffCurveAddress(toAddress) ? 'The recipient is the address of a program’s account, not of a wallet.' : null;
}

/** Why an amount cannot be sent, or null. */
export function amountProblem({ amount }: ActionDraft, { decimals }: Pick<DraftRules, 'decimals'>): string | null {
  if (!/^\d+(\.\d+)?$/.test(amount)) return 'The amount is a number of whole tokens.';
  const baseUnits = toBaseUnits(amount, decimals);
  if (baseUnits === null) return `The token has ${decimals} decimals; ${amount} has more.`;
  return baseUnits === 0n ? 'The amount is zero.' : digitsProblem(amount);
}

/** The action as it stands, for measuring: half-written ones count as they will. */
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

function payloadProblem({ type, payload }: PipelineDraft, { proofTypes }: DraftRules): string | null {
  const bytes = new TextEncoder().encode(payload).length;
  if (bytes > MAX_PAYLOAD_BYTES) return `The payload has ${bytes} bytes; it may have ${MAX_PAYLOAD_BYTES}.`;
  const parsed = parseJson(payload);
  if (parsed === undefined) return 'The payload is no JSON.';
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return 'The payload is no JSON object.';
  const schema = proofTypes.find((known) => known.type === type)?.payloadSchema;
  const verdict = schema === undefined ? { problem: null } : checkPayload(schema, parsed);
  // What this page does not know of a schema the service checks.
  return 'problem' in verdict && verdict.problem !== null ? `${type}: ${verdict.problem}.` : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Half-written, most of the time: the caller says so.
    return undefined;
  }
}

/** Amounts travel as JSON numbers; of more digits than this not every one would arrive as it was written. */
const MAX_SIGNIFICANT_DIGITS = 15;

/** Why an amount, plain decimal text, cannot be sent exactly; null when it can. */
export function digitsProblem(amount: string): string | null {
  const digits = amount
    .replace(/(\.\d*?)0+$/, '$1')
    .replace('.', '')
    .replace(/^0+/, '')
    .replace(/0+$/, '').length;
  if (digits <= MAX_SIGNIFICANT_DIGITS) return null;
  return `${withSeparators(amount)} has ${digits} significant digits; an amount takes ${MAX_SIGNIFICANT_DIGITS}.`;
}
