import * as z from 'zod';
import { Approvals } from '../batch-events.ts';
import { BatchStatus } from '../schemas.ts';
import { isoDateTime, lamports } from '../values.ts';
import { BatchRow } from './batch.ts';
import { CompanyTerms, ProjectSummary } from './project.ts';
import { lamportsOfCap } from './values.ts';

const reason = z.string().min(1).max(500);

export const CompanyOverview = z
  .object({
    isPaused: z.boolean().describe('True when all projects are paused.'),
    pausedAt: isoDateTime.optional().describe('Start of the pause of all projects.'),
    pauseReason: z.string().optional(),
    operator: z.object({
      address: z.string(),
      lamports: lamports.nullable().describe('null while the cluster does not respond.'),
      rentOutLamports: lamports.describe('Rent locked in open batches; it is returned when they are closed.'),
      spentPerDayLamports: lamports.describe('Mean of the last seven days: what batches were charged, fees and tips.'),
      runwayDays: z
        .int()
        .nullable()
        .describe('Days until the balance is spent at that rate; null when nothing is spent.'),
    }),
    exposure: z
      .object({
        lockedLamports: lamports.describe('Upper bound of the rent of all batches that are not closed.'),
        spentTodayLamports: lamports.describe(
          'Fees and tips of the UTC day, and what unclosed batches may still spend.',
        ),
        unadmitted: z
          .object({ locked: lamportsOfCap, spentToday: lamportsOfCap })
          .describe('The part of the projects that the company has not admitted, which share these caps.'),
      })
      .describe('What batches take of the operator’s lamports.'),
    company: z.string().describe('Address of the company approver.'),
    nonces: z.object({ creating: z.int(), available: z.int(), leased: z.int(), refreshing: z.int() }),
    projects: z.int(),
    openBatches: z.int(),
    waitingBatches: z.int().describe('Batches pending company approval.'),
    stuckJobs: z.int(),
  })
  .meta({ id: 'CompanyOverview' });

export const WaitingBatch = BatchRow.extend({
  projectId: z.guid(),
  mintAddress: z.string(),
  symbol: z.string().optional().describe('Of the token, chosen by its creator: do not trust it.'),
  decimals: z.int(),
  requestedAt: isoDateTime.describe('When the wallet’s approval was received, or later.'),
  approvals: Approvals.optional().describe('Present if an operator has approved and another one must approve as well.'),
}).meta({ id: 'WaitingBatch' });

export const WaitingBatches = z
  .object({ batches: z.array(WaitingBatch).describe('Oldest first; at most 100.') })
  .meta({ id: 'WaitingBatches' });

export const CompanyProjects = z
  .object({ projects: z.array(ProjectSummary).describe('Newest first.') })
  .meta({ id: 'CompanyProjects' });

/** Base64 of 64 bytes. */
const signature = z.string().regex(/^[A-Za-z0-9+/]{86}==$/);

export const DecisionSignature = z
  .strictObject({
    nonce: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .describe('Of the signed text: 32 lowercase hex digits. Each decision has its own.'),
    expiresAt: isoDateTime.describe('Of the signed text. At most 30 days from now.'),
    signedMessage: z
      .base64()
      .max(2_048)
      .describe(
        'The bytes that the wallet signed, base64: the text, an off-chain message of it, or a memo transaction’s message.',
      ),
    signature: signature.describe('The wallet’s signature of these bytes, base64.'),
  })
  .meta({ id: 'DecisionSignature' });

export const RejectRequest = DecisionSignature.extend({ reason: reason.describe('Shown to the project.') }).meta({
  id: 'RejectRequest',
});

export const CompanyVerdict = z
  .object({
    batchId: z.guid(),
    status: BatchStatus,
    approvals: Approvals.optional().describe('Present while another operator must approve as well.'),
  })
  .meta({ id: 'CompanyVerdict' });

export const PauseRequest = z
  .strictObject({ reason: reason.optional().describe('Shown in the error of refused requests.') })
  .meta({ id: 'PauseRequest' });

export const ResumeRequest = DecisionSignature.extend({
  pausedAt: isoDateTime.describe('Start of the pause, as the signed text has it.'),
}).meta({ id: 'ResumeRequest' });

export const Pause = z.object({ isPaused: z.boolean() }).meta({ id: 'Pause' });

export const TermsRequest = DecisionSignature.extend({
  from: CompanyTerms.describe('The present terms, as the signed text has them.'),
  to: CompanyTerms,
}).meta({ id: 'TermsRequest' });

export const AdmissionRequest = DecisionSignature.extend({
  terms: CompanyTerms.nullable().describe(
    'What the company approves by itself from the admission on, as the signed text has it. Null withdraws the admission.',
  ),
}).meta({ id: 'AdmissionRequest' });

export const ProjectAdmission = z.object({ isAdmitted: z.boolean() }).meta({ id: 'ProjectAdmission' });

export const JobSummary = z
  .object({
    id: z.guid(),
    type: z.string(),
    state: z.enum(['waiting', 'running', 'failed', 'cancelled', 'completed']),
    problem: z
      .enum(['failed', 'abandoned', 'failing', 'unattended'])
      .optional()
      .describe('Why the job needs a person; absent otherwise.'),
    batchId: z.guid().optional(),
    batchIndex: z.string().optional(),
    batchStatus: BatchStatus.optional(),
    projectId: z.guid().optional(),
    failedAttempts: z.int(),
    error: z.string().optional().describe('Error of the last attempt.'),
    dateCreated: isoDateTime,
    dueAt: isoDateTime,
  })
  .meta({ id: 'JobSummary' });

export const JobList = z.object({ jobs: z.array(JobSummary).describe('Oldest first.') }).meta({ id: 'JobList' });

export const RetriedJob = z.object({ jobId: z.guid() }).meta({ id: 'RetriedJob' });

export type CompanyOverview = z.output<typeof CompanyOverview>;
export type DecisionSignature = z.output<typeof DecisionSignature>;
export type WaitingBatch = z.output<typeof WaitingBatch>;
export type ResumeRequest = z.output<typeof ResumeRequest>;
export type TermsRequest = z.output<typeof TermsRequest>;
export type AdmissionRequest = z.output<typeof AdmissionRequest>;
export type PauseRequest = z.output<typeof PauseRequest>;
export type JobSummary = z.output<typeof JobSummary>;
export type CompanyVerdict = z.output<typeof CompanyVerdict>;
