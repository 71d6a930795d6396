import type { Difference, Look } from '@flywheel/sdk';

/** Everything that stands against signing, a sentence each, the approval’s own faults first; empty when it is safe. */
export function objectionsTo({ approvalFaults, differences }: Look): readonly Difference[] {
  return [...approvalFaults.map((text) => ({ pipeline: null, text })), ...differences];
}
