import type { KeySummary, ProjectOverview } from '@flywheel/api';

/** The first steps of a project, in order. */
export const FIRST_STEPS = ['key', 'vault', 'batch', 'proof', 'webhook'] as const;

export type FirstStep = (typeof FIRST_STEPS)[number];

export interface FirstStepsInput {
  readonly project: Pick<ProjectOverview, 'funds' | 'batches'>;
  readonly keys: readonly Pick<KeySummary, 'lastUsedAt'>[];
  /** Number of webhooks. */
  readonly webhooks: number;
}

/** Finds the steps that are done, from what the service knows; a step stays done when the vault is empty again. */
export function findDoneSteps({ project, keys, webhooks }: FirstStepsInput): ReadonlySet<FirstStep> {
  const { funds, batches } = project;
  const isFunded = funds !== null && funds.lamports.available !== '0' && funds.tokens.available !== '0';
  const hasExecuted = batches.EXECUTED > 0;
  const isDone: Readonly<Record<FirstStep, boolean>> = {
    // A key that was used is stored where it is needed.
    key: keys.some(({ lastUsedAt }) => lastUsedAt !== undefined),
    vault: isFunded || hasExecuted,
    batch: Object.values(batches).some((count) => count > 0),
    // Every executed pipeline leaves a proof.
    proof: hasExecuted,
    webhook: webhooks > 0,
  };
  return new Set(FIRST_STEPS.filter((step) => isDone[step]));
}
