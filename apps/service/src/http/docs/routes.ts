import { fileURLToPath } from 'node:url';
import { ApiError } from '@flywheel/api';
import { openapi } from '@flywheel/api/openapi';
import type { FastifyRequest, RouteOptions } from 'fastify';
import type { MissingPage } from '../site.ts';
import { type GuideFile, readGuide } from './guide.ts';
import { REFERENCE_PATH } from './reference.ts';

/** The repository's root, whose docs/ and examples/ are the guide. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));

/** The guide's pages and images lie below this path. */
const GUIDE_PREFIX = '/docs/';

/** An image that is opened by itself may use its own style; it may not load or run anything. */
const IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/**
 * Lists the routes that describe the service: /openapi.json for machines, the guide for people. `/docs` leads to the API
 * reference, which `referenceRoutes` lists.
 * @param originOf the origin that a request reached this service at, e.g. `https://flywheel.example`
 * @param missing answers a browser that asks for a page which does not exist.
 */
export function documentRoutes(originOf: (request: FastifyRequest) => string, missing: MissingPage): RouteOptions[] {
  return [
    {
      method: 'GET',
      url: '/openapi.json',
      handler: (request, reply) => {
        const [before, after] = describeOnce();
        const document = before + JSON.stringify(originOf(request)) + after;
        reply.header('content-type', 'application/json; charset=utf-8').send(document);
      },
    },
    {
      method: 'GET',
      url: '/docs',
      handler: (_request, reply) => {
        reply.redirect(REFERENCE_PATH);
      },
    },
    {
      method: 'GET',
      url: `${GUIDE_PREFIX}*`,
      handler(request, reply) {
        const [path = ''] = request.url.split('?', 1);
        const found = openGuide().get(path.slice(GUIDE_PREFIX.length));
        const unslashed = path.slice(0, -1);
        if (path === GUIDE_PREFIX || (path.endsWith('/') && openGuide().has(unslashed.slice(GUIDE_PREFIX.length)))) {
          return reply.redirect(unslashed + request.url.slice(path.length), PERMANENT_REDIRECT);
        }
        if (!found && missing.isAsked(request)) return missing.handler.call(this, request, reply);
        if (!found) throw new ApiError('ERR_ROUTE_NOT_FOUND', { method: request.method, path: path.slice(0, 200) });
        const [policy, type, body] =
          found.kind === 'image'
            ? [IMAGE_POLICY, 'image/svg+xml', found.source]
            : [found.page.contentSecurityPolicy, 'text/html; charset=utf-8', found.page.html];
        return reply.headers({ 'content-security-policy': policy, 'content-type': type }).send(body);
      },
    },
  ];
}

/** RFC 9110, 15.4.9. */
const PERMANENT_REDIRECT = 308;

let description: readonly [before: string, after: string] | undefined;

/**
 * Describes the contract at the first request, as the texts before and after the server's origin, which each request names.
 * It takes some 50 ms of the thread that answers everyone.
 */
function describeOnce(): readonly [before: string, after: string] {
  if (description !== undefined) return description;
  const origin = 'https://origin.invalid';
  const [before = '', after, ...others] = JSON.stringify(openapi(origin)).split(JSON.stringify(origin));
  if (after === undefined || others.length > 0) throw new Error('The description names its server once.');
  description = [before, after];
  return description;
}

let guide: ReadonlyMap<string, GuideFile> | undefined;

/** Reads and renders the guide at the first request: most processes never serve it. */
function openGuide(): ReadonlyMap<string, GuideFile> {
  guide ??= readGuide(ROOT);
  return guide;
}
