import { openapi } from '@flywheel/api';
import type { RouteOptions } from 'fastify';
import { docsPage } from './page.ts';

/** What describes the service: for machines and for people. Made once. */
export function documentRoutes(): RouteOptions[] {
  const description = JSON.stringify(openapi());
  const page = docsPage();
  return [
    {
      method: 'GET',
      url: '/openapi.json',
      handler: (_request, reply) => {
        reply.header('content-type', 'application/json; charset=utf-8').send(description);
      },
    },
    {
      method: 'GET',
      url: '/docs',
      handler: (_request, reply) => {
        reply
          .headers({
            'content-security-policy': page.contentSecurityPolicy,
            'content-type': 'text/html; charset=utf-8',
          })
          .send(page.html);
      },
    },
  ];
}
