import type { OperationInput, OperationReply, Scope } from '@flywheel/api';
import { ERRORS, type ErrorCode, type ErrorContext, type Operation } from '@flywheel/api';
import type { Logger } from 'pino';
import type { Project } from '../model/project.ts';
import type { OpenSession } from '../projects/sign-in.ts';

/** One handler per row of a table of operations. */
export type Handlers<Rows extends OperationTable> = { readonly [Id in keyof Rows]: Handler<Rows[Id]> };

export interface OperationTable {
  readonly [operationId: string]: Operation;
}

/** A handler gets its request parsed by the row's schemas, or says that it checks the body by itself. */
export type Handler<Row extends Operation> = Handle<Row, OperationInput<Row>> | BodyChecker<Row>;

/** For a body whose faults have codes of their own: it arrives as JSON, unchecked. */
export interface BodyChecker<Row extends Operation> {
  readonly checksBody: Handle<Row, Omit<OperationInput<Row>, 'body'> & { readonly body: unknown }>;
}

type Handle<Row extends Operation, Input> = (context: ContextOf<Row>, input: Input) => Promise<OperationReply<Row>>;

/** What every handler may know of the request beside its input. */
export interface RequestContext {
  readonly requestId: string;
  /** Carries the request id. */
  readonly log: Logger;
  /** Where the caller reaches this service, e.g. `https://flywheel.example`. */
  readonly origin: string;
  /** Aborts when the server closes: a handler that waits answers what it has. */
  readonly closing: AbortSignal;
}

/** Who holds the API key of a request. */
export interface KeyHolder {
  readonly project: Project;
  readonly keyId: string;
  /** Of the key, which may carry fewer than its project. */
  readonly keyScopes: ReadonlySet<Scope>;
}

/** Who is signed in to the console. */
export interface SessionHolder extends OpenSession {
  /** What the cookie holds. */
  readonly sessionToken: string;
}

export type KeyContext = RequestContext & KeyHolder;
export type SessionContext = RequestContext & SessionHolder;

/** The context that a row's way of authentication yields. */
export type ContextOf<Row extends Operation> = Row['authentication'] extends 'apiKey'
  ? KeyContext
  : Row['authentication'] extends 'session' | 'company'
    ? SessionContext
    : RequestContext;

/** A row and its handler, their types forgotten: what a route is made of. */
export interface BoundOperation {
  readonly operationId: string;
  readonly operation: Operation;
  readonly fallback: ContextFreeCode;
  /** The handler checks the body: it gets it as it came. */
  readonly checksBody: boolean;
  handle(context: RequestContext, input: unknown): Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: { readonly [name: string]: string };
}

/** A code whose sentence needs to know nothing. */
export type ContextFreeCode = {
  [Code in ErrorCode]: ErrorContext<Code> extends undefined ? Code : never;
}[ErrorCode];

/**
 * Joins each row with its handler.
 * @throws Error when a row's fallback could not be said without a context.
 */
export function bindHandlers<Rows extends OperationTable>(rows: Rows, handlers: Handlers<Rows>): BoundOperation[] {
  return Object.entries(rows).map(([operationId, operation]) => {
    const { fallback } = operation;
    if (!isContextFree(fallback)) throw new Error(`${operationId}: the sentence of ${fallback} needs a context.`);
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
