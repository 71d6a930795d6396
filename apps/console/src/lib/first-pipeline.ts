import type { Pipeline, ProofType, Scope } from '@flywheel/api';

/** The scopes and proof types that a project allows; burns of any type by default. */
export interface SampleRules {
  readonly scopes?: readonly Scope[];
  readonly proofTypes?: readonly Pick<ProofType, 'type' | 'payloadSchema'>[];
}

/** The pipeline of the samples: one burn, or one memo, which needs no scope, where burns are not allowed. */
export function firstPipeline({ scopes = ['burn'], proofTypes = [] }: SampleRules = {}): Pipeline {
  // The payload satisfies no schema in particular.
  const { type } = proofTypes.find(({ payloadSchema }) => payloadSchema === undefined) ??
    proofTypes[0] ?? { type: 'WATCH_AD' };
  const burns = scopes.includes('burn');
  return {
    type,
    payload: '{"event":"1"}',
    actions: [burns ? { action: 'BURN', amount: 1 } : { action: 'MEMO', message: 'First batch' }],
  };
}
