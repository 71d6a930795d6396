import type { Approvals, BatchEvent } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { pendingStep, type Step } from '../../progress.ts';

/** Derives the steps of a batch from its events. The company’s approval is a step only if a person gives it. */
export function readTimeline(events: readonly BatchEvent[]): readonly Step[] {
  const steps = new Map<StepId, Step>(STEP_IDS.map((id) => [id, pendingStep(LABELS[id])]));
  const change = (id: StepId, changes: Partial<Step>) =>
    steps.set(id, { ...(steps.get(id) ?? pendingStep(LABELS[id])), ...changes });
  let current: StepId = 'compile';
  const landed = { setup: 0, execution: 0, close: 0 };
  for (const event of events) {
    const at = Date.parse(event.at);
    const begin = (id: StepId, detail = '') => {
      current = id;
      change(id, { state: 'running', detail, startedAtMs: at });
    };
    const finish = (id: StepId, detail = '') =>
      change(id, { state: 'done', detail, startedAtMs: steps.get(id)?.startedAtMs ?? at, endedAtMs: at });
    switch (event.type) {
      case 'batch.initialized':
        finish('compile');
        begin('setUp');
        break;
      case 'batch.finalized':
        finish('setUp', pluralize(landed.setup, 'transaction'));
        begin('wallet', 'pending: flywheel sign, then flywheel execute');
        break;
      case 'batch.approval_received':
        finish('wallet');
        begin('execute');
        break;
      case 'batch.awaiting_company_approval':
        change('execute', { state: 'pending', detail: '' });
        begin('company', 'pending: a company approver must decide');
        break;
      case 'batch.company_approval_received':
        if (event.approvals) change('company', { detail: `pending: ${describeApprovals(event.approvals)}` });
        break;
      case 'batch.company_approved':
        finish('company');
        begin('execute');
        break;
      case 'batch.company_rejected':
        change('company', { state: 'failed', detail: event.reason ?? 'rejected' });
        break;
      case 'batch.bundle_sent':
        break;
      case 'batch.bundle_landed': {
        const { phase = 'execution', signatures = [] } = event;
        landed[phase] += signatures.length;
        if (phase !== 'close') change(current, { detail: `${pluralize(landed[phase], 'transaction')} landed` });
        break;
      }
      case 'batch.bundle_failed':
      case 'batch.held_up':
        change(current, { detail: event.error?.message ?? 'a bundle did not land; it is sent again' });
        break;
      case 'batch.executed':
        finish('execute', pluralize(event.executedPipelines ?? 0, 'pipeline'));
        break;
      case 'batch.failed':
      case 'batch.expired':
        change(current, { state: 'failed', detail: event.error?.message ?? END_WORDS[event.type], endedAtMs: at });
        break;
      case 'batch.closed':
        break;
      default:
        event.type satisfies never;
    }
  }
  return STEP_IDS.flatMap((id) => {
    const step = steps.get(id);
    return step && (id !== 'company' || step.state !== 'pending') ? [step] : [];
  });
}

type StepId = keyof typeof LABELS;

const LABELS = {
  compile: 'Compile',
  setUp: 'Set up on chain',
  wallet: 'Wallet approval',
  company: 'Company approval',
  execute: 'Execute',
} as const;
const STEP_IDS = ['compile', 'setUp', 'wallet', 'company', 'execute'] as const satisfies readonly StepId[];

const END_WORDS = { 'batch.failed': 'failed', 'batch.expired': 'expired' } as const;

/** Describes an event in one line: time, type and details. */
export function describeEvent(event: BatchEvent): string {
  const { at, type, phase, signatures, error, executedPipelines, approvals, reason } = event;
  const details = [
    ...(phase === undefined ? [] : [phase]),
    ...(signatures === undefined || signatures.length === 0 ? [] : [pluralize(signatures.length, 'transaction')]),
    ...(executedPipelines === undefined ? [] : [`${pluralize(executedPipelines, 'pipeline')} executed`]),
    ...(approvals === undefined ? [] : [describeApprovals(approvals)]),
    ...(reason === undefined ? [] : [reason]),
    ...(error === undefined ? [] : [error.message]),
  ];
  const name = type.replace('batch.', '').replaceAll('_', ' ');
  return `${at}  ${[name, ...details].join(', ')}`;
}

export function describeApprovals({ given, required }: Approvals): string {
  return `${given} of ${required} operators have approved`;
}

/** Returns true if the batch has ended with this event: later ones only return rent. */
export function isEnd({ type }: BatchEvent): boolean {
  return type === 'batch.executed' || type === 'batch.failed' || type === 'batch.expired';
}
