import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/** W3C Trace Context, as text that travels in headers and jobs. */
export type TraceCarrier = Readonly<Record<string, string>>;

/** Does nothing, at no cost, unless the process was started with an OpenTelemetry SDK. */
const tracer = trace.getTracer('flywheel');

/** Runs work as a span, which an error marks as failed. @throws the error of the work. */
export async function traced<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  return runSpan(name, { attributes, kind: SpanKind.INTERNAL }, work);
}

/** Traces an incoming request like `traced`, as part of the caller's trace if its headers name one. */
export async function tracedRequest<T>(
  name: string,
  attributes: Attributes,
  headers: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  return context.with(propagation.extract(ROOT_CONTEXT, headers), () =>
    runSpan(name, { attributes, kind: SpanKind.SERVER }, work),
  );
}

/** Traces a job like `traced`, as part of the trace of the request that enqueued it. */
export async function tracedJob<T>(
  name: string,
  attributes: Attributes,
  carrier: TraceCarrier | undefined,
  work: () => Promise<T>,
): Promise<T> {
  return context.with(propagation.extract(ROOT_CONTEXT, carrier ?? {}), () =>
    runSpan(name, { attributes, kind: SpanKind.CONSUMER }, work),
  );
}

/** Returns the current trace, to be continued elsewhere; undefined if there is none. */
export function currentTrace(): TraceCarrier | undefined {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return Object.keys(carrier).length === 0 ? undefined : carrier;
}

function runSpan<T>(
  name: string,
  options: { readonly attributes: Attributes; readonly kind: SpanKind },
  work: () => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, options, async (span) => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Error) span.recordException(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}
