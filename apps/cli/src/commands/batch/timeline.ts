import type { BatchEvent } from '@flywheel/api';
import type { Step } from '../../progress.ts';
import { count } from '../../words.ts';

/** The steps of a batch, as far as its events tell; a company that approves by itself has none of its own. */
export function readTimeline(events: readonly BatchEvent[]): readonly Step[] {
  const steps = new Map<StepId, Step>(IDS.map((id) => [id, { ...UPCOMING, label: LABELS[id] }]));
  const change = (id: StepId, changes: Partial<Step>) => steps.set(id, { ...UPCOMING, ...steps.get(id), ...changes });
  let current: StepId = 'compile';
  const landed = { setup: 0, execution: 0, close: 0 };
  for (const event of events) {
    const at = Date.parse(event.at);
    const begin = (id: StepId, detail = '') => {
      current = id;
      change(id, { label: LABELS[id], state: 'running', detail, startedAtMs: at });
    };
    const finish = (id: StepId, detail = '') => {
      const { startedAtMs = at } = steps.get(id) ?? {};
      change(id, { state: 'done', detail, startedAtMs: startedAtMs || at, endedAtMs: at });
    };
    switch (event.type) {
      case 'batch.initialized':
        finish('compile');
        begin('setUp');
        break;
      case 'batch.finalized':
        finish('setUp', count(landed.setup, 'transaction'));
        begin('wallet', 'waits for the wallet: flywheel sign, then flywheel execute');
        break;
      case 'batch.approval_received':
        finish('wallet');
        begin('execute');
        break;
      case 'batch.awaiting_company_approval':
        change('execute', { state: 'waiting', detail: '' });
        begin('company', 'waits for a person of the company');
        break;
      case 'batch.company_approved':
        finish('company');
        begin('execute');
        break;
      case 'batch.company_rejected':
        change('company', { label: LABELS.company, state: 'failed', detail: event.reason ?? 'rejected' });
        break;
      case 'batch.bundle_sent':
        break;
      case 'batch.bundle_landed': {
        const { phase = 'execution', signatures = [] } = event;
        landed[phase] += signatures.length;
        if (phase !== 'close') change(current, { detail: `${count(landed[phase], 'transaction')} landed` });
        break;
      }
      case 'batch.bundle_failed':
      case 'batch.held_up':
        change(current, { detail: event.error?.message ?? 'a bundle did not land; it is sent again' });
        break;
      case 'batch.executed':
        finish('execute', count(event.executedPipelines ?? 0, 'pipeline'));
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
  return IDS.flatMap((id) => {
    const step = steps.get(id);
    return step && (id !== 'company' || step.state !== 'waiting') ? [step] : [];
  });
}

type StepId = keyof typeof LABELS;

const LABELS = {
  compile: 'Compile',
  setUp: 'Set up on chain',
  wallet: 'Wallet approves',
  company: 'Company approves',
  execute: 'Execute',
} as const;
const IDS = ['compile', 'setUp', 'wallet', 'company', 'execute'] as const satisfies readonly StepId[];

const UPCOMING: Step = { label: '', state: 'waiting', detail: '', startedAtMs: 0, endedAtMs: 0 };
const END_WORDS = { 'batch.failed': 'failed', 'batch.expired': 'expired' } as const;

/** One event as one line: when, what, and what there is to know. */
export function describeEvent({ at, type, phase, signatures, error, executedPipelines, reason }: BatchEvent): string {
  const facts = [
    ...(phase === undefined ? [] : [phase]),
    ...(signatures === undefined || signatures.length === 0 ? [] : [count(signatures.length, 'transaction')]),
    ...(executedPipelines === undefined ? [] : [`${count(executedPipelines, 'pipeline')} executed`]),
    ...(reason === undefined ? [] : [reason]),
    ...(error === undefined ? [] : [error.message]),
  ];
  const what = type.replace('batch.', '').replaceAll('_', ' ');
  return `${at}  ${[what, ...facts].join(', ')}`;
}

/** Whether a batch has ended with it: what comes after only returns rent. */
export function isEnd({ type }: BatchEvent): boolean {
  return type === 'batch.executed' || type === 'batch.failed' || type === 'batch.expired';
}
