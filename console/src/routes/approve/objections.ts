import type { Difference, Look } from '@flywheel/sdk';

/**
 * Everything that stands against signing, a sentence each, the approval’s own faults first; empty when it is safe. A
 * proposal that is not active yet could still be given more messages after it was looked at.
 */
export function objectionsTo({ approvalFaults, differences, onChain }: Look): readonly Difference[] {
  const { status } = onChain.proposal;
  return [
    ...approvalFaults.map((text) => ({ pipeline: null, text })),
    ...(status === 'Active' ? [] : [{ pipeline: null, text: `The proposal on chain is ${status}, not Active.` }]),
    ...differences,
  ];
}
