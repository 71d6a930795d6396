import { fastify } from 'fastify';
import type { Logger } from 'pino';
import { METRICS_CONTENT_TYPE, type MetricsSources, renderMetrics } from '../telemetry/metrics.ts';
import { healthRoutes, type ReadinessCheck } from './health.ts';
import { hangUpOnClose } from './wire/hang-up-on-close.ts';

export interface MonitorDeps extends MetricsSources {
  readonly log: Logger;
  readonly readiness: Readonly<Record<string, ReadinessCheck>>;
}

/**
 * Serves `/metrics` and `/health/*` on a port of their own, for the operator's network only: metrics are not public, and
 * a worker process serves no other port.
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
