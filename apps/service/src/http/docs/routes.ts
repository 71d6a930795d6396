import { fileURLToPath } from 'node:url';
import { ApiError, openapi } from '@flywheel/api';
import type { FastifyReply, RouteOptions } from 'fastify';
import { type Guide, readGuide } from './guide/guide.ts';
import { guidePage } from './guide/guide-page.ts';
import type { DocsPage } from './layout.ts';
import { docsPage } from './page.ts';

/** The repository's root, whose docs/ and examples/ are the guide. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));

/** Where images and text of the guide lie below. */
const GUIDE_PREFIX = '/docs/';

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
        sendPage(reply, page);
      },
    },
    {
      method: 'GET',
      url: `${GUIDE_PREFIX}*`,
      handler: (request, reply) => {
        const [path = ''] = request.url.split('?', 1);
        const found = openGuide().pages.get(path.slice(GUIDE_PREFIX.length));
        if (!found) throw new ApiError('ERR_ROUTE_NOT_FOUND', { method: request.method, path: path.slice(0, 200) });
        if (found.kind === 'image') sendImage(reply, found.source);
        else sendPage(reply, guidePage(openGuide(), found));
      },
    },
  ];
}

let guide: Guide | undefined;

/** Read when somebody first asks: most processes are never asked. */
function openGuide(): Guide {
  guide ??= readGuide(ROOT);
  return guide;
}

function sendPage(reply: FastifyReply, { html, contentSecurityPolicy }: DocsPage): void {
  reply
    .headers({ 'content-security-policy': contentSecurityPolicy, 'content-type': 'text/html; charset=utf-8' })
    .send(html);
}

/** Opened by itself an image may carry its own style, and still neither load nor run anything. */
const IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

function sendImage(reply: FastifyReply, source: string): void {
  reply.headers({ 'content-security-policy': IMAGE_POLICY, 'content-type': 'image/svg+xml' }).send(source);
}
