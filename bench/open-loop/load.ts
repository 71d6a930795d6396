import { z } from 'zod';
import { OPERATION_NAMES, type OperationName, Tenant } from './operations.ts';

/** The processes of a load: the parent asks for runs, and the clients answer with what they have measured. */
export const Setting = z.object({
  port: z.number(),
  tenants: z.array(Tenant),
  recipients: z.array(z.string()),
  seed: z.number(),
});
export type Setting = z.infer<typeof Setting>;

export const Run = z.discriminatedUnion('kind', [
  /** Clients send the next request when the last one is answered. */
  z.object({ kind: z.literal('closed'), clients: z.number(), seconds: z.number() }),
  /** One client sends each operation so many times. */
  z.object({ kind: z.literal('each'), times: z.number() }),
  /** Requests are due at random times, on average so many a second, whether or not earlier ones are answered. */
  z.object({ kind: z.literal('open'), clients: z.number(), seconds: z.number(), perSecond: z.number() }),
]);
export type Run = z.infer<typeof Run>;

const Name = z.enum(OPERATION_NAMES as [OperationName, ...OperationName[]]); // it has nine names

export const Measured = z.object({
  /** Milliseconds from the time a request was due to its answer, by operation. */
  took: z.partialRecord(Name, z.array(z.number())),
  /** Answers 429. */
  limited: z.number(),
  /** Other answers that are no success, and broken connections, with one of them as a text. */
  errors: z.number(),
  firstError: z.string().nullable(),
  /** Seconds from the first request to the last answer. */
  seconds: z.number(),
});
export type Measured = z.infer<typeof Measured>;
