import type { DecisionSubject } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Project } from '../model/project.ts';
import type { Change } from '../store/company/changes.ts';

/** The part of a change that an operator signs, and who may not sign it. */
export interface ChangeSubject {
  readonly subject: DecisionSubject;
  /** The wallet that may not sign; null for none. */
  readonly wallet: Address | null;
}

/**
 * Derives what an operator signs of a change. The process that takes the change and the worker that reviews it derive the same.
 * @param project null for a change about all projects.
 */
export function subjectOf(change: Change, project: Project | null): ChangeSubject {
  if (change.type === 'resume') {
    const { pausedAt } = change;
    return {
      subject: { type: 'resume', multisig: project?.flywheel.multisig.address ?? null, pausedAt },
      wallet: null,
    };
  }
  if (project === null) throw new Error(`A change of type ${change.type} is about one project.`);
  const { token, flywheel } = project;
  const { address: multisig, wallet } = flywheel.multisig;
  switch (change.type) {
    case 'terms': {
      const { from, to } = change;
      return { subject: { type: 'terms', multisig, token, from, to }, wallet };
    }
    case 'admission': {
      const { terms } = change;
      return { subject: { type: 'admission', multisig, wallet, token, terms }, wallet };
    }
    case 'policy': {
      const { version, policy } = change;
      return { subject: { type: 'policy', multisig, token, version, policy }, wallet };
    }
    default:
      throw new Error(`No operator signs a change of type ${change satisfies never}.`);
  }
}
