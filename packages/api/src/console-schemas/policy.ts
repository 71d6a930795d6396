import * as z from 'zod';
import { Approvals } from '../batch-events.ts';
import { MetRule, Pipeline } from '../schemas.ts';
import { isoDateTime, wholeTokens } from '../values.ts';
import { DecisionSignature } from './company.ts';
import { base58Address, decimalTokens } from './values.ts';

/** Each list may have this many: the lists of every version are kept, and init reads the present ones. */
export const MAX_LISTED_RECIPIENTS = 1_000;
const MAX_TYPE_CAPS = 20;

const recipients = z.array(base58Address).max(MAX_LISTED_RECIPIENTS);
const minuteOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of the day, e.g. "08:00"');

export const CompanyPolicy = z
  .strictObject({
    personPerBatch: decimalTokens.optional().describe('An operator of the company approves a batch of more tokens.'),
    personPerRecipient: decimalTokens
      .optional()
      .describe('An operator of the company approves a batch in which one recipient receives more tokens.'),
    personPerDay: decimalTokens
      .optional()
      .describe('An operator of the company approves a batch with which its day has more tokens.'),
    twoOperatorsPerBatch: decimalTokens
      .optional()
      .describe('Two operators of the company approve a batch, or a withdrawal, of more tokens.'),
    capPerRecipient: decimalTokens.optional().describe('The most tokens that one recipient receives in a UTC day.'),
    capsPerType: z
      .array(z.strictObject({ type: Pipeline.shape.type, cap: decimalTokens }))
      .max(MAX_TYPE_CAPS)
      .optional()
      .describe('The most tokens that a proof type burns and airdrops in a UTC day. Each type once.'),
    newTokenAccounts: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe('The most token accounts that the vault pays for in a UTC day.'),
    allowed: recipients.optional().describe('The only recipients that may be paid. Absent: all.'),
    denied: recipients.optional().describe('Recipients that may not be paid.'),
    hours: z
      .strictObject({ from: minuteOfDay, to: minuteOfDay })
      .optional()
      .describe('Times of a UTC day at which the company signs. A window may span midnight.'),
  })
  .meta({ id: 'CompanyPolicy', description: 'Rules of the company for a project. A field that is absent is no rule.' });

const PolicySentence = z.object({ rule: z.string(), sentence: z.string() }).meta({ id: 'PolicySentence' });

export const PolicyVersion = z
  .object({
    version: z.int(),
    operator: z.string().describe('Wallet that signed it.'),
    dateApplied: isoDateTime,
    changes: z.array(z.string()).describe('Differences from the version before, in sentences.'),
  })
  .meta({ id: 'PolicyVersion' });

export const ProjectPolicy = z
  .object({
    version: z.int().describe('0 if the company has set no rules.'),
    policy: CompanyPolicy,
    rules: z.array(PolicySentence).describe('The rules in sentences. Empty if there are none.'),
    versions: z.array(PolicyVersion).describe('Newest first; at most 50.'),
  })
  .meta({ id: 'ProjectPolicy' });

export const PolicyRequest = DecisionSignature.extend({
  version: z.int().min(1).describe('One more than the present version, as the signed text has it.'),
  policy: CompanyPolicy,
}).meta({ id: 'PolicyRequest' });

export const PolicyTrialRequest = z.strictObject({ policy: CompanyPolicy }).meta({ id: 'PolicyTrialRequest' });

export const PolicyTrial = z
  .object({
    rules: z.array(PolicySentence).describe('The rules in sentences.'),
    changes: z.array(z.string()).describe('Differences from the present version, in sentences.'),
    since: isoDateTime.describe('Batches created since then were judged.'),
    batches: z.int(),
    untouched: z.int().describe('Batches that would have met no rule.'),
    refused: z.int(),
    person: z.int().describe('Batches that would have waited for one operator.'),
    twoOperators: z.int(),
    waits: z.int().describe('Batches that would have waited for a time, and for no person.'),
    byRule: z.array(z.object({ rule: z.string(), sentence: z.string(), batches: z.int() })),
    examples: z
      .array(
        z.object({
          batchId: z.guid(),
          batchIndex: z.string().optional().describe('Absent only in answers of release 0.2.'),
          dateCreated: isoDateTime,
          rules: z.array(MetRule),
        }),
      )
      .describe('The newest batches that would have met a rule; at most 20.'),
  })
  .meta({ id: 'PolicyTrial' });

export const BatchReview = z
  .object({
    batchId: z.guid(),
    effects: z.array(z.string()).describe('What the batch does, in sentences without a full stop.'),
    recipients: z.int(),
    pipelines: z.int(),
    rules: z.array(MetRule).describe('Rules of the company that the batch meets now.'),
    approvals: Approvals,
    unusual: z
      .array(
        z.object({
          kind: z.enum(['FIRST_TIME_RECIPIENTS', 'LARGEST_BATCH', 'REPEATED_PAYLOADS', 'RISKY_MINT', 'WARNING']),
          message: z.string(),
        }),
      )
      .describe('Facts that a company operator should check. Empty if nothing is unusual.'),
    moved: wholeTokens.describe('Tokens that it burns and airdrops.'),
  })
  .meta({ id: 'BatchReview' });

export type CompanyPolicy = z.output<typeof CompanyPolicy>;
export type ProjectPolicy = z.output<typeof ProjectPolicy>;
export type PolicyRequest = z.output<typeof PolicyRequest>;
export type PolicyTrial = z.output<typeof PolicyTrial>;
export type BatchReview = z.output<typeof BatchReview>;
