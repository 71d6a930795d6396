import * as z from 'zod';
import { Scope } from '../schemas.ts';
import { isoDateTime, lamports, wholeTokens } from '../values.ts';
import { ApprovalMode, ProofTypes } from './registration.ts';
import { decimalTokens, lamportsOfCap } from './values.ts';

export const ProjectToken = z
  .object({
    id: z.string(),
    mint: z.string(),
    decimals: z.int(),
    program: z.enum(['spl-token', 'token-2022']),
    name: z.string().optional().describe('Chosen by the creator of the token: do not trust it.'),
    symbol: z.string().optional().describe('Chosen by the creator of the token: do not trust it.'),
  })
  .meta({ id: 'ProjectToken' });

export const ProjectSummary = z
  .object({
    id: z.guid(),
    wallet: z.string(),
    token: ProjectToken,
    vaultAddress: z.string(),
    approvalMode: ApprovalMode,
    isPaused: z
      .boolean()
      .describe('True while the company has paused this project or all projects: init and execute are refused.'),
    pausedAt: isoDateTime.optional().describe('Start of the pause of this project alone.'),
    isAdmitted: z.boolean().describe('True while the company admits this project.'),
    openBatches: z.int(),
    dateCreated: isoDateTime,
  })
  .meta({ id: 'ProjectSummary' });

export const ProjectList = z
  .object({ projects: z.array(ProjectSummary).describe('Newest first.') })
  .meta({ id: 'ProjectList' });

const DailyUse = z
  .object({ cap: wholeTokens, used: wholeTokens, left: wholeTokens, resetsAt: isoDateTime })
  .meta({ id: 'DailyUse', description: 'Usage of the current UTC day; open batches are counted.' });

const tokenFunds = z.object({
  available: wholeTokens,
  needed: wholeTokens.describe('Amount that all open batches need together.'),
  missing: wholeTokens,
});
const lamportFunds = z.object({ available: lamports, needed: lamports, missing: lamports });

export const VaultFunds = z
  .object({ tokens: tokenFunds, lamports: lamportFunds })
  .meta({ id: 'VaultFunds', description: 'Balance of the vault, and what is missing for the open batches.' });

const Attention = z
  .object({
    kind: z.enum(['APPROVE', 'COMPANY', 'TROUBLE', 'UNDERFUNDED', 'PAUSED', 'LIMIT', 'KEY_EXPIRES', 'CLUSTER']),
    message: z.string().describe('Sentence: what it is and what to do.'),
    batchId: z.guid().optional(),
    keyId: z.guid().optional(),
  })
  .meta({ id: 'Attention' });

export const ProjectOverview = ProjectSummary.extend({
  flywheelId: z.string(),
  scopes: z.array(Scope),
  multisig: z.object({
    address: z.string(),
    vaultIndex: z.string(),
    operator: z.string(),
    recovery: z.string().optional().describe('Proposes and executes, without a vote, if the operator is lost.'),
    company: z.string(),
    wallet: z.string(),
    lookupTable: z.string(),
  }),
  pauseReason: z.string().optional(),
  vaultTokenAccount: z.string().describe('Associated token account of the vault; it may not exist yet.'),
  funds: VaultFunds.nullable().describe('null while the cluster does not respond.'),
  limits: z.object({ burn: DailyUse, airdrop: DailyUse }),
  exposure: z
    .object({
      locked: lamportsOfCap.describe(
        'Rent of batches that are not closed, those that wait for a cancel vote included.',
      ),
      spentToday: lamportsOfCap
        .extend({ resetsAt: isoDateTime })
        .describe('Fees and tips of the UTC day, and what unclosed batches may still spend.'),
    })
    .describe('What the batches of the project take of the operator’s lamports.'),
  batches: z
    .object({
      AVAILABLE_TO_QUEUE: z.int(),
      FINALIZED: z.int(),
      EXECUTED: z.int(),
      FAILED: z.int(),
    })
    .describe('Number of batches of each status.'),
  attention: z.array(Attention).describe('Most urgent first.'),
}).meta({ id: 'ProjectOverview' });

export const Usage = z
  .object({
    days: z
      .array(
        z.object({ day: z.string().describe('UTC, e.g. `2026-11-21`.'), burned: wholeTokens, airdropped: wholeTokens }),
      )
      .describe('One entry per day, oldest first. Amounts that open batches have reserved are counted.'),
  })
  .meta({ id: 'Usage' });

export const CompanyTerms = z
  .strictObject({
    approvalMode: ApprovalMode,
    burnLimit: decimalTokens,
    airdropLimit: decimalTokens,
  })
  .meta({
    id: 'CompanyTerms',
    description:
      'What the company approves by itself: nothing if `manual`, otherwise what fits the limits of a UTC day.',
  });

export const ProjectSettings = z
  .object({
    scopes: z.array(Scope),
    burnLimit: wholeTokens,
    airdropLimit: wholeTokens,
    proofTypes: ProofTypes.describe('Empty if every well-formed type is allowed.'),
    approvalMode: ApprovalMode.describe('Set at registration; the company can change it.'),
    companyTerms: CompanyTerms.describe(
      'Recorded at registration; an operator of the company changes them. A batch above them needs a person.',
    ),
  })
  .meta({ id: 'ProjectSettings' });

const limits = {
  burnLimit: decimalTokens.describe('Whole tokens that may be burned per UTC day.'),
  airdropLimit: decimalTokens.describe('Whole tokens that may be airdropped per UTC day.'),
};

export const LimitsRequest = z
  .strictObject({
    ...limits,
    from: z
      .strictObject(limits)
      .optional()
      .describe('The limits as the caller has read them. If they are others now, nothing is changed.'),
  })
  .meta({ id: 'LimitsRequest' });

export const ProofTypesRequest = z
  .strictObject({
    proofTypes: ProofTypes.describe('The complete list: types that are left out are removed.'),
    from: ProofTypes.optional().describe(
      'The proof types as the caller has read them. If they are others now, nothing is changed.',
    ),
  })
  .meta({ id: 'ProofTypesRequest' });

export type ProjectSummary = z.output<typeof ProjectSummary>;
export type ProjectOverview = z.output<typeof ProjectOverview>;
export type CompanyTerms = z.output<typeof CompanyTerms>;
export type ProjectSettings = z.output<typeof ProjectSettings>;
export type LimitsRequest = z.output<typeof LimitsRequest>;
export type ProofTypesRequest = z.output<typeof ProofTypesRequest>;
export type VaultFunds = z.output<typeof VaultFunds>;
export type Attention = z.output<typeof Attention>;
export type Usage = z.output<typeof Usage>;
