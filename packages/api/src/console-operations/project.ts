import * as z from 'zod';
import { AuditPage } from '../console-schemas/audit.ts';
import {
  LimitsRequest,
  ProjectList,
  ProjectOverview,
  ProjectSettings,
  ProofTypesRequest,
  Usage,
} from '../console-schemas/project.ts';
import type { Operation } from '../operation.ts';
import { SESSION } from './access.ts';
import { page, projectParams } from './params.ts';

/** The wallet's own; the company's operators may read every project. */
export const PROJECT_OPERATIONS = {
  listProjects: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects',
    summary: 'List the projects of the wallet',
    description: 'Newest first.',
    responses: { 200: { description: 'The projects.', schema: ProjectList } },
    errors: [],
  },
  getProject: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}',
    summary: 'Read a project',
    description: 'What its vault holds and lacks, what today’s limits have left, what needs attention.',
    params: projectParams,
    responses: { 200: { description: 'The project.', schema: ProjectOverview } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  getUsage: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/usage',
    summary: 'Read what was burned and airdropped per day',
    description: 'UTC days up to today.',
    params: projectParams,
    query: z.object({
      days: z
        .string()
        .regex(/^([1-9]\d?|[12]\d\d|3[0-5]\d|36[0-6])$/, 'must be a number from 1 to 366')
        .optional()
        .describe('How many days; 30 by default.'),
    }),
    responses: { 200: { description: 'Every day asked for.', schema: Usage } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  getSettings: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/settings',
    summary: 'Read a project’s settings',
    description: 'Limits, proof types, scopes and how the company approves.',
    params: projectParams,
    responses: { 200: { description: 'The settings.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  changeLimits: {
    ...SESSION,
    method: 'PUT',
    path: '/console/api/projects/{projectId}/limits',
    summary: 'Change the daily limits',
    description: 'From the next init on. Batches that are open keep what they have reserved.',
    params: projectParams,
    body: LimitsRequest,
    responses: { 200: { description: 'The settings since.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  changeProofTypes: {
    ...SESSION,
    method: 'PUT',
    path: '/console/api/projects/{projectId}/proof-types',
    summary: 'Change the proof types',
    description: 'All of them at once, from the next init on.',
    params: projectParams,
    body: ProofTypesRequest,
    responses: { 200: { description: 'The settings since.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  listProjectHistory: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/history',
    summary: 'Read who changed what',
    description: 'Newest first, a page at a time.',
    params: projectParams,
    query: z.object(page),
    responses: { 200: { description: 'A page of entries.', schema: AuditPage } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
