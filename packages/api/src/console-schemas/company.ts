import * as z from 'zod';
import { BatchStatus } from '../schemas.ts';
import { BatchRow } from './batch.ts';
import { ProjectSummary } from './project.ts';
import { ApprovalMode } from './registration.ts';
import { isoDateTime, lamports } from './values.ts';

const reason = z.string().min(1).max(500);

export const CompanyOverview = z
  .object({
    isPaused: z.boolean().describe('For all projects.'),
    pauseReason: z.string().optional(),
    operator: z.object({
      address: z.string(),
      lamports: lamports.nullable().describe('null while the cluster does not answer.'),
      rentOutLamports: lamports.describe('Locked in batches that are open; it comes back.'),
      spentPerDayLamports: lamports.describe('Fees and tips, the mean of the last seven days.'),
      runwayDays: z.int().nullable().describe('How long it lasts at that pace; null when nothing is being spent.'),
    }),
    company: z.string().describe('The approver’s address.'),
    nonces: z.object({ creating: z.int(), available: z.int(), leased: z.int(), refreshing: z.int() }),
    projects: z.int(),
    openBatches: z.int(),
    waitingBatches: z.int().describe('For the company’s approval.'),
    stuckJobs: z.int(),
  })
  .meta({ id: 'CompanyOverview' });

export const WaitingBatch = BatchRow.extend({
  projectId: z.guid(),
  mintAddress: z.string(),
  decimals: z.int(),
  requestedAt: isoDateTime.describe('When the wallet’s approval came in, or later.'),
}).meta({ id: 'WaitingBatch' });

export const WaitingBatches = z
  .object({ batches: z.array(WaitingBatch).describe('Oldest first; at most 100.') })
  .meta({ id: 'WaitingBatches' });

export const CompanyProjects = z
  .object({ projects: z.array(ProjectSummary).describe('Newest first.') })
  .meta({ id: 'CompanyProjects' });

export const RejectRequest = z
  .strictObject({ reason: reason.describe('The project reads it.') })
  .meta({ id: 'RejectRequest' });

export const CompanyVerdict = z.object({ batchId: z.guid(), status: BatchStatus }).meta({ id: 'CompanyVerdict' });

export const PauseRequest = z
  .strictObject({ isPaused: z.boolean(), reason: reason.optional().describe('Whoever is refused reads it.') })
  .meta({ id: 'PauseRequest' });

export const Pause = z.object({ isPaused: z.boolean() }).meta({ id: 'Pause' });

export const ApprovalModeRequest = z.strictObject({ approvalMode: ApprovalMode }).meta({ id: 'ApprovalModeRequest' });

export const JobSummary = z
  .object({
    id: z.guid(),
    type: z.string(),
    state: z.enum(['waiting', 'running', 'failed', 'cancelled', 'completed']),
    problem: z
      .enum(['failed', 'abandoned', 'failing', 'unattended'])
      .optional()
      .describe('Why it needs a person; absent when it does not.'),
    batchId: z.guid().optional(),
    batchStatus: BatchStatus.optional(),
    projectId: z.guid().optional(),
    failedAttempts: z.int(),
    error: z.string().optional().describe('What it failed of last.'),
    dateCreated: isoDateTime,
    dueAt: isoDateTime,
  })
  .meta({ id: 'JobSummary' });

export const JobList = z.object({ jobs: z.array(JobSummary).describe('Oldest first.') }).meta({ id: 'JobList' });

export const RetriedJob = z.object({ jobId: z.guid() }).meta({ id: 'RetriedJob' });

export type CompanyOverview = z.output<typeof CompanyOverview>;
export type WaitingBatch = z.output<typeof WaitingBatch>;
export type PauseRequest = z.output<typeof PauseRequest>;
export type JobSummary = z.output<typeof JobSummary>;
export type CompanyVerdict = z.output<typeof CompanyVerdict>;
