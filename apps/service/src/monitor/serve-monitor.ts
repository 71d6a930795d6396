import { fastify } from 'fastify';
import type { Logger } from 'pino';
import { healthRoutes, type ReadinessCheck } from '../http/health.ts';
import { hangUpOnClose } from '../http/wire/hang-up-on-close.ts';
import { METRICS_CONTENT_TYPE, type MetricsDeps, renderMetrics } from './render-metrics.ts';

export interface MonitorDeps extends MetricsDeps {
  readonly log: Logger;
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
}

/**
 * Serves `/metrics` and `/health/*` on a port of their own, which is for the operator's network alone: what they tell is
 * not for everyone, and a worker has no other port.
 */
export async function serveMonitor(
  deps: MonitorDeps,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = fastify({ logger: false });
  hangUpOnClose(server);
  server.get('/metrics', async (_request, reply) =>
    reply.header('content-type', METRICS_CONTENT_TYPE).send(await renderMetrics(deps)),
  );
  for (const route of healthRoutes(deps.readiness, deps.log)) server.route(route);
  const url = await server.listen({ host, port });
  return { url, close: () => server.close() };
}
