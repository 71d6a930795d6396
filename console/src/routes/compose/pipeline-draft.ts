import { type Action, MAX_PAYLOAD_BYTES, type Pipeline } from '@flywheel/api';
import { toBaseUnits } from '@flywheel/sdk';
import { isAddress } from '@solana/kit';

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

export function newAction(kind: ActionKind = 'BURN'): ActionDraft {
  return { key: crypto.randomUUID(), kind, amount: '', toAddress: '', message: '' };
}

export function newPipeline(type: string): PipelineDraft {
  return { key: crypto.randomUUID(), type, payload: '{}', actions: [newAction()] };
}

/** The pipeline that a draft makes, or what stands against it. */
export function readPipeline(draft: PipelineDraft, decimals: number): Pipeline | { readonly problem: string } {
  const problem =
    (/^[A-Za-z0-9_-]{1,64}$/.test(draft.type) ? null : 'The type is 1 to 64 of A-Z a-z 0-9 _ -.') ??
    payloadProblem(draft.payload) ??
    (draft.actions.length === 0 ? 'It has no action.' : null) ??
    draft.actions.map((action) => actionProblem(action, decimals)).find((found) => found !== null) ??
    null;
  if (problem !== null) return { problem };
  return { type: draft.type, payload: draft.payload, actions: draft.actions.map(readAction) };
}

/** Why an action cannot be sent, or null. */
export function actionProblem({ kind, amount, toAddress, message }: ActionDraft, decimals: number): string | null {
  if (kind === 'MEMO') return message === '' ? 'The memo is empty.' : null;
  if (kind === 'AIRDROP' && !isAddress(toAddress)) return 'The recipient is no address.';
  const baseUnits = toBaseUnits(amount, decimals);
  if (amount === '' || !/^\d+(\.\d+)?$/.test(amount)) return 'The amount is a number of whole tokens.';
  if (baseUnits === null) return `The token has ${decimals} decimals; ${amount} has more.`;
  return baseUnits === 0n ? 'The amount is zero.' : null;
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

function payloadProblem(payload: string): string | null {
  const bytes = new TextEncoder().encode(payload).length;
  if (bytes > MAX_PAYLOAD_BYTES) return `The payload has ${bytes} bytes; it may have ${MAX_PAYLOAD_BYTES}.`;
  try {
    const parsed: unknown = JSON.parse(payload);
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? null : 'The payload is no JSON object.';
  } catch {
    return 'The payload is no JSON.';
  }
}
