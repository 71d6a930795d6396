import * as z from 'zod';
import { DEFAULT_PAGE_SIZE, pageCursor, pageLimit } from '../page.ts';
import { idParam } from '../schemas.ts';

// Authentication, rate limit and fallback error of the console's operations.

export const OPEN = { authentication: 'none', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;
export const SESSION = { authentication: 'session', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;
/** Makes much work: its requests are counted apart. */
export const HEAVY = { ...SESSION, rateLimit: 'heavy' } as const;
export const COMPANY = { authentication: 'company', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;

/** Holds all proof types of a project: 256 KiB of schemas, and a thousand names and descriptions. */
export const PROOF_TYPES_BODY_BYTES = 768 * 1024;
/** Holds two lists of a thousand recipients. */
export const POLICY_BODY_BYTES = 256 * 1024;
/** Holds a payload of 64 KiB of which every byte is escaped, and a schema. */
export const PAYLOAD_BODY_BYTES = 512 * 1024;

export const projectParams = z.object({ projectId: idParam });
export const batchParams = z.object({ projectId: idParam, batchId: idParam });
export const keyParams = z.object({ projectId: idParam, keyId: idParam });

export const page = { cursor: pageCursor, limit: pageLimit(DEFAULT_PAGE_SIZE) };
