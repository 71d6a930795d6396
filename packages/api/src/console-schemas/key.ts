import * as z from 'zod';
import { Scope } from '../schemas.ts';
import { isoDateTime } from '../values.ts';

const keyName = z.string().min(1).max(80);

export const CreateKeyRequest = z
  .strictObject({
    scopes: z.array(Scope).min(1).max(2).optional().describe('Default: the scopes of the project.'),
    name: keyName.optional(),
    expiresAt: isoDateTime.optional(),
  })
  .meta({ id: 'CreateKeyRequest' });

export const CreatedKey = z.object({ keyId: z.guid(), apiKey: z.string() }).meta({ id: 'CreatedKey' });

export const RevokedKey = z
  .object({
    keyId: z.guid(),
    revokedAt: isoDateTime,
    cancelledBatches: z.int().describe('Open batches of the key that this request has cancelled.'),
  })
  .meta({ id: 'RevokedKey' });

/** Longest time that a replaced key or secret keeps working: 30 days. */
export const MAX_OVERLAP_SECONDS = 30 * 86_400;

/** Seconds that a replaced key or secret keeps working. */
export const overlapSeconds = z.int().min(0).max(MAX_OVERLAP_SECONDS).default(86_400);

export const RotateKeyRequest = z
  .strictObject({
    overlapSeconds: overlapSeconds.describe(
      'Seconds that the old key keeps working beside the new one; default one day, 0 ends it at once.',
    ),
    name: keyName.optional().describe('Default: the name of the old key.'),
    expiresAt: isoDateTime.optional().describe('Expiry of the new key; default: it does not expire.'),
  })
  .meta({ id: 'RotateKeyRequest' });

export const RotatedKey = CreatedKey.extend({
  replacedKeyId: z.guid(),
  replacedExpiresAt: isoDateTime.describe('When the old key stops working.'),
}).meta({ id: 'RotatedKey' });

export const KeySummary = z
  .object({
    keyId: z.guid(),
    name: z.string().optional(),
    prefix: z.string().describe('The key’s first twelve characters.'),
    scopes: z.array(Scope),
    state: z
      .enum(['active', 'replaced', 'expired', 'revoked'])
      .describe('`replaced`: works until `expiresAt` beside the new key.'),
    dateCreated: isoDateTime,
    lastUsedAt: isoDateTime.optional().describe('Updated at most once a minute; absent if the key was not used.'),
    expiresAt: isoDateTime.optional(),
    revokedAt: isoDateTime.optional(),
    replacedBy: z.guid().optional().describe('The key that a rotation made in its place.'),
  })
  .meta({ id: 'KeySummary' });

export const KeyList = z.object({ keys: z.array(KeySummary).describe('Newest first.') }).meta({ id: 'KeyList' });

export type CreateKeyRequest = z.output<typeof CreateKeyRequest>;
export type CreatedKey = z.output<typeof CreatedKey>;
export type RevokedKey = z.output<typeof RevokedKey>;
export type RotateKeyRequest = z.output<typeof RotateKeyRequest>;
export type RotatedKey = z.output<typeof RotatedKey>;
export type KeySummary = z.output<typeof KeySummary>;
