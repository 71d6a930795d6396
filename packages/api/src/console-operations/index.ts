import { BATCH_OPERATIONS } from './batch.ts';
import { COMPANY_OPERATIONS } from './company.ts';
import { IDENTITY_OPERATIONS } from './identity.ts';
import { KEY_OPERATIONS } from './key.ts';
import { POLICY_OPERATIONS } from './policy.ts';
import { PROJECT_OPERATIONS } from './project.ts';
import { PROOF_OPERATIONS } from './proof.ts';
import { REGISTRATION_OPERATIONS } from './registration.ts';
import { TREASURY_OPERATIONS } from './treasury.ts';
import { WEBHOOK_OPERATIONS } from './webhook.ts';

/** Operations of the console and of `flywheel register`. They are not part of the versioned contract. */
export const CONSOLE_OPERATIONS = {
  ...IDENTITY_OPERATIONS,
  ...REGISTRATION_OPERATIONS,
  ...PROJECT_OPERATIONS,
  ...KEY_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...TREASURY_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...PROOF_OPERATIONS,
  ...COMPANY_OPERATIONS,
  ...POLICY_OPERATIONS,
} as const;

export { BATCH_OPERATIONS } from './batch.ts';
export { COMPANY_OPERATIONS } from './company.ts';
export { IDENTITY_OPERATIONS } from './identity.ts';
export { KEY_OPERATIONS } from './key.ts';
export { POLICY_OPERATIONS } from './policy.ts';
export { DEFAULT_USAGE_DAYS, MAX_USAGE_DAYS, PROJECT_OPERATIONS } from './project.ts';
export { PROOF_OPERATIONS } from './proof.ts';
export { CONFIRM_REGISTRATION_TIMEOUT_MS, isOutcomeUnknown, REGISTRATION_OPERATIONS } from './registration.ts';
export { TREASURY_OPERATIONS } from './treasury.ts';
export { WEBHOOK_OPERATIONS } from './webhook.ts';
