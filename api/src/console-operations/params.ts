import * as z from 'zod';
import { pageCursor, pageLimit } from '../console-schemas/values.ts';

export const projectParams = z.object({ projectId: z.guid() });
export const batchParams = z.object({ projectId: z.guid(), batchId: z.guid() });
export const keyParams = z.object({ projectId: z.guid(), keyId: z.guid() });

export const page = { cursor: pageCursor, limit: pageLimit(50) };
