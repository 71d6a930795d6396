import type * as z from 'zod';
import type { ErrorCode } from './error-codes.ts';

/** Describes one operation: everything that the server, OpenAPI and the SDK need. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path with parameters in braces, e.g. `/v1/flywheel/batch/{batchId}`. */
  readonly path: string;
  readonly summary: string;
  /** Group in the API reference; only the contract under `/v1` has groups. */
  readonly tag?: 'Batches' | 'Status';
  readonly description: string;
  /**
   * `apiKey`: header x-service-api-key. `session`: the console's cookie, after Sign-In With Solana. `company`: the cookie
   * of a wallet that COMPANY_OPERATORS lists.
   */
  readonly authentication: 'apiKey' | 'session' | 'company' | 'none';
  /**
   * Name of the limit that counts the requests, per API key (console: per wallet or IP address; `heavy`: both;
   * `project`: per project). The numbers are configuration.
   */
  readonly rateLimit: RateLimitName;
  readonly headers?: z.ZodObject;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Largest body in bytes; `MAX_BODY_BYTES` by default. It is refused by its length, before it is read. */
  readonly maxBodyBytes?: number;
  /** Response of each successful status. */
  readonly responses: { readonly [status: number]: OperationResponse };
  /** Error codes beyond those that every operation with this authentication may return. */
  readonly errors: readonly ErrorCode[];
  /** Error code for unexpected errors. */
  readonly fallback: ErrorCode;
}

/** Holds every body without pipelines, schemas or payloads. */
export const MAX_BODY_BYTES = 64 * 1024;

/** A successful response of an operation. */
export interface OperationResponse {
  readonly description: string;
  /** Schema of the body; for a stream, of the `data` of each event. */
  readonly schema: z.ZodType;
  /** JSON by default. */
  readonly mediaType?: 'text/event-stream';
}

/** Yields events as they happen, until the stream ends or the signal aborts. */
export type EventStream<Event> = (signal: AbortSignal) => AsyncIterable<Event>;

/** Name of the limit that counts the requests of an operation. */
export type RateLimitName =
  | 'init'
  | 'preview'
  | 'execute'
  | 'get'
  | 'current'
  | 'console'
  | 'heavy'
  | 'proof'
  | 'project';

type Parsed<O, Part extends string> = O extends { readonly [P in Part]: infer Schema extends z.ZodType }
  ? { readonly [P in Part]: z.output<Schema> }
  : unknown;

type Given<O, Part extends string> = O extends { readonly [P in Part]: infer Schema extends z.ZodType }
  ? { readonly [P in Part]: z.input<Schema> }
  : unknown;

/** Parsed input of a handler. */
export type OperationInput<O> = Parsed<O, 'headers'> & Parsed<O, 'params'> & Parsed<O, 'query'> & Parsed<O, 'body'>;

/** Input that a client passes. */
export type OperationRequest<O> = Given<O, 'headers'> & Given<O, 'params'> & Given<O, 'query'> & Given<O, 'body'>;

/** Result of a handler: a documented status with the body of that status. */
export type OperationReply<O> = O extends { readonly responses: infer Responses }
  ? {
      [Status in keyof Responses]: Responses[Status] extends { readonly schema: infer Schema extends z.ZodType }
        ? {
            readonly status: Status;
            readonly body: Responses[Status] extends { readonly mediaType: 'text/event-stream' }
              ? EventStream<z.input<Schema>>
              : z.input<Schema>;
            readonly headers?: { readonly [name: string]: string };
          }
        : never;
    }[keyof Responses]
  : never;

/** Lists every code that an operation may return: its own, and those of the checks before its handler runs. */
export function errorsOf({ method, authentication, errors, fallback }: Operation): ReadonlySet<ErrorCode> {
  const beforeHandler = [...ERRORS_BY_AUTHENTICATION[authentication], ...(method === 'GET' ? [] : ERRORS_OF_BODIES)];
  return new Set([...beforeHandler, ...errors, fallback]);
}

const ERRORS_BY_AUTHENTICATION = {
  apiKey: [
    'ERR_INVALID_REQUEST',
    'ERR_UNAUTHORIZED',
    'ERR_KEY_NOT_FOUND',
    'ERR_TOKEN_NOT_FOUND',
    'ERR_FLYWHEEL_NOT_FOUND',
    'ERR_PROJECT_MOVING',
    'ERR_RATE_LIMITED',
  ],
  session: ['ERR_INVALID_REQUEST', 'ERR_UNAUTHORIZED', 'ERR_PROJECT_MOVING', 'ERR_RATE_LIMITED'],
  company: ['ERR_INVALID_REQUEST', 'ERR_UNAUTHORIZED', 'ERR_COMPANY_ONLY', 'ERR_PROJECT_MOVING', 'ERR_RATE_LIMITED'],
  none: ['ERR_INVALID_REQUEST', 'ERR_RATE_LIMITED'],
} as const satisfies { [A in Operation['authentication']]: readonly ErrorCode[] };

const ERRORS_OF_BODIES = ['ERR_BODY_TOO_LARGE', 'ERR_UNSUPPORTED_MEDIA_TYPE'] as const satisfies readonly ErrorCode[];
