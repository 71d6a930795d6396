import type { OperationInput, OperationReply } from '@flywheel/api';
import { ERRORS, type ErrorCode, type Operation } from '@flywheel/api';
import type { Logger } from 'pino';
import type { ContextFreeCode } from '../wire/errors.ts';
import type { KeyHolder, SessionHolder } from './authentication.ts';

/** One handler per operation of a table. */
export type Handlers<Rows extends OperationTable> = { readonly [Id in keyof Rows]: Handler<Rows[Id]> };

export interface OperationTable {
  readonly [operationId: string]: Operation;
}

/** A handler receives its request parsed by the operation's schemas, or declares that it checks the body itself. */
export type Handler<Row extends Operation> = Handle<Row, OperationInput<Row>> | BodyChecker<Row>;

/** A handler whose body errors have codes of their own. The body arrives as JSON, not validated. */
export interface BodyChecker<Row extends Operation> {
  readonly checksBody: Handle<Row, Omit<OperationInput<Row>, 'body'> & { readonly body: unknown }>;
}

type Handle<Row extends Operation, Input> = (context: ContextOf<Row>, input: Input) => Promise<OperationReply<Row>>;

/** The context of a request, passed to its handler beside the input. */
export interface RequestContext {
  readonly requestId: string;
  /** Carries the request id. */
  readonly log: Logger;
  /** Origin at which the caller reaches this service, e.g. `https://flywheel.example`. */
  readonly origin: string;
  /** The caller's address, as it is counted: see `countedAddress`. */
  readonly address: string;
  /** Aborts when the server closes: a handler that waits then answers what it has. */
  readonly closing: AbortSignal;
}

/** The context that an operation's kind of authentication yields. */
export type ContextOf<Row extends Operation> = Row['authentication'] extends 'apiKey'
  ? RequestContext & KeyHolder
  : Row['authentication'] extends 'session' | 'company'
    ? RequestContext & SessionHolder
    : RequestContext;

/** An operation and its handler with their types erased: what a route is made of. */
export interface BoundOperation {
  readonly operationId: string;
  readonly operation: Operation;
  readonly fallback: ContextFreeCode;
  /** True when the handler validates the body itself. */
  readonly checksBody: boolean;
  handle(context: RequestContext, input: unknown): Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: { readonly [name: string]: string };
}

/**
 * Joins each operation with its handler.
 * @throws Error when an operation's fallback code has a message that needs context.
 */
export function bindHandlers<Rows extends OperationTable>(rows: Rows, handlers: Handlers<Rows>): BoundOperation[] {
  return Object.entries(rows).map(([operationId, operation]) => {
    const { fallback } = operation;
    if (!isContextFree(fallback)) throw new Error(`${operationId}: the message of ${fallback} needs a context.`);
    const handler: Handler<Rows[string]> = handlers[operationId as keyof Rows];
    const checksBody = typeof handler !== 'function';
    // `Handlers` has proved that this handler takes what this row's schemas yield and this row's authentication gives.
    const handle = (checksBody ? handler.checksBody : handler) as BoundOperation['handle'];
    return { operationId, operation, fallback, checksBody, handle };
  });
}

function isContextFree(code: ErrorCode): code is ContextFreeCode {
  return ERRORS[code].message.length === 0;
}
