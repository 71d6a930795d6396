import { ApiError, type CompanyPolicy as PolicyBody, type PolicyTrial, type ProjectPolicy } from '@flywheel/api';
import {
  type CompanyPolicy,
  describePolicy,
  describePolicyChange,
  NO_POLICY,
  readPolicy,
  writePolicy,
} from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { presentMetRule } from '../batches/policy/evaluate.ts';
import { judgePast, type PastVerdict } from '../batches/policy/judge-past.ts';
import { DAY_MS } from '../model/clock.ts';
import type { Token } from '../model/project.ts';
import { requireVisibleProject } from '../projects/access.ts';
import { findPolicyVersions } from '../store/company/policies.ts';

type Decimals = Pick<Token, 'decimals'>;

/** Versions that are shown, the present one included. */
const MAX_VERSIONS = 50;

/**
 * Reads the company's rules for a project, and how its versions differ.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function readProjectPolicy(
  deps: Pick<Deps, 'db' | 'companyOperators'>,
  wallet: Address,
  projectId: string,
): Promise<ProjectPolicy> {
  const { token, flywheel } = await requireVisibleProject(deps, wallet, projectId);
  // One more than is shown, because the oldest one is shown as a difference too.
  const versions = await findPolicyVersions(deps.db, flywheel.multisig.address, MAX_VERSIONS + 1);
  const policy = versions[0]?.policy ?? NO_POLICY;
  return {
    version: versions[0]?.version ?? 0,
    policy: writePolicy(policy, token),
    rules: presentRules(policy, token),
    versions: versions.slice(0, MAX_VERSIONS).map(({ version, operator, appliedAt, policy: next }, index) => ({
      version,
      operator,
      dateApplied: appliedAt.toISOString(),
      changes: describePolicyChange(versions[index + 1]?.policy ?? NO_POLICY, next, token),
    })),
  };
}

/** @throws ApiError ERR_INVALID_REQUEST for an amount, an address or a time that cannot be used. */
export function parsePolicy(fields: PolicyBody, token: Decimals): CompanyPolicy {
  const read = readPolicy(fields, token);
  if ('policy' in read) return read.policy;
  const { place, problem } = read.issue;
  throw new ApiError('ERR_INVALID_REQUEST', { place: `body.policy.${place}`, problem });
}

const TRIAL_DAYS = 30;
const MAX_EXAMPLES = 20;

/**
 * Judges the batches of the last 30 days by rules that are not saved.
 * @throws ApiError ERR_PROJECT_NOT_FOUND; ERR_INVALID_REQUEST as `parsePolicy`.
 */
export async function tryPolicy(
  deps: Pick<Deps, 'db' | 'clock' | 'companyOperators'>,
  operator: Address,
  projectId: string,
  fields: PolicyBody,
): Promise<PolicyTrial> {
  const project = await requireVisibleProject(deps, operator, projectId);
  const { token, flywheel } = project;
  const policy = parsePolicy(fields, token);
  const [present] = await findPolicyVersions(deps.db, flywheel.multisig.address, 1);
  const oldest = new Date(deps.clock.now().getTime() - TRIAL_DAYS * DAY_MS);
  const { verdicts, since } = await judgePast(deps.db, project, policy, oldest);
  const count = (has: (verdict: PastVerdict) => boolean) => verdicts.filter(has).length;
  const outcomes = verdicts.map(outcomeOf);
  const countOutcome = (wanted: (typeof outcomes)[number]) => outcomes.filter((each) => each === wanted).length;
  return {
    rules: presentRules(policy, token),
    changes: describePolicyChange(present?.policy ?? NO_POLICY, policy, token),
    since: since.toISOString(),
    batches: verdicts.length,
    untouched: countOutcome('untouched'),
    refused: countOutcome('refused'),
    person: countOutcome('person'),
    twoOperators: countOutcome('twoOperators'),
    waits: countOutcome('waits'),
    byRule: describePolicy(policy, token).map(({ rule, type, sentence }) => ({
      rule,
      sentence,
      batches: count(({ met }) => met.some((each) => each.rule === rule && each.type === type)),
    })),
    examples: verdicts
      .filter(({ met }) => met.length > 0)
      .slice(-MAX_EXAMPLES)
      .reverse()
      .map(({ batchId, batchIndex, createdAt, met }) => ({
        batchId,
        batchIndex: String(batchIndex),
        dateCreated: createdAt.toISOString(),
        rules: met.slice(0, MAX_EXAMPLES).map(presentMetRule),
      })),
  };
}

/** The strictest effect of the rules that a batch met. */
function outcomeOf({ met }: PastVerdict) {
  const effects = new Set(met.map(({ effect }) => effect));
  if (effects.has('refused') || effects.has('capped')) return 'refused';
  if (effects.has('twoOperators')) return 'twoOperators';
  if (effects.has('person')) return 'person';
  return effects.has('waits') ? 'waits' : 'untouched';
}

function presentRules(policy: CompanyPolicy, token: Decimals) {
  return describePolicy(policy, token).map(({ rule, sentence }) => ({ rule, sentence }));
}
