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
import { HEAVY, PROOF_TYPES_BODY_BYTES, page, projectParams, SESSION } from './common.ts';

/** Days whose usage an answer may have: a leap year. */
export const MAX_USAGE_DAYS = 366;
/** Days whose usage an answer has, unless the query says how many. */
export const DEFAULT_USAGE_DAYS = 30;

/** Operations on the wallet's own projects. Company operators may read every project. */
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
    description: 'Balance of the vault, what is left of today’s limits, and what needs attention.',
    params: projectParams,
    responses: { 200: { description: 'The project.', schema: ProjectOverview } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  getUsage: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/usage',
    summary: 'Read daily usage',
    description: 'Burned and airdropped amounts per UTC day, up to today.',
    params: projectParams,
    query: z.object({
      days: z
        .string()
        .regex(/^([1-9]\d?|[12]\d\d|3[0-5]\d|36[0-6])$/, `must be a number from 1 to ${MAX_USAGE_DAYS}`)
        .optional()
        .describe(`Number of days; default ${DEFAULT_USAGE_DAYS}.`),
    }),
    responses: { 200: { description: 'One entry per day.', schema: Usage } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  getSettings: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/settings',
    summary: 'Read a project’s settings',
    description: 'Limits, proof types, scopes and approval mode.',
    params: projectParams,
    responses: { 200: { description: 'The settings.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  changeLimits: {
    ...SESSION,
    method: 'PUT',
    path: '/console/api/projects/{projectId}/limits',
    summary: 'Change the daily limits',
    description: 'Applies to batches that are created afterwards. Open batches keep their reserved amounts.',
    params: projectParams,
    body: LimitsRequest,
    responses: { 200: { description: 'The changed settings.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_SETTINGS_CHANGED'],
  },
  changeProofTypes: {
    ...HEAVY,
    method: 'PUT',
    path: '/console/api/projects/{projectId}/proof-types',
    summary: 'Change the proof types',
    description:
      'Replaces all proof types. Applies to batches that are created afterwards. A project may change them a hundred times in 24 hours.',
    params: projectParams,
    body: ProofTypesRequest,
    // The new types, and those that they replace.
    maxBodyBytes: 2 * PROOF_TYPES_BODY_BYTES,
    responses: { 200: { description: 'The changed settings.', schema: ProjectSettings } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_SETTINGS_CHANGED', 'ERR_SCHEMA_CHECK_UNAVAILABLE'],
  },
  listProjectHistory: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/projects/{projectId}/history',
    summary: 'Read the history of a project',
    description: 'Newest first, a page at a time.',
    params: projectParams,
    query: z.object(page),
    responses: { 200: { description: 'A page of entries.', schema: AuditPage } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };
