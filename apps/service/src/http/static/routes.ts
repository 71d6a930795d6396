import { ApiError } from '@flywheel/api';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { acceptedEncoding } from './accepted-encoding.ts';
import { SITE_INDEX, type Site, type SiteFile } from './read-site.ts';
import { type SitePolicyDeps, sitePolicy } from './site-policy.ts';

export interface SiteDeps extends SitePolicyDeps {
  /** null: it has not been built. */
  readonly site: Site | null;
}

/** The console's own addresses (apps/console/src/app/router.tsx): each is answered with its one page, which finds the rest. */
const PAGES = [
  ...['/', '/register', '/proof', '/vault/:address'],
  ...['/p/:projectId', '/p/:projectId/*', '/company', '/company/*'],
];

/** Where the build puts files whose names change with their content. */
const ASSETS = 'assets/';

/** The console: its page at each of its addresses, and the files that the page loads. */
export function siteRoutes(deps: SiteDeps): RouteOptions[] {
  const { site } = deps;
  const index = site?.files.get(SITE_INDEX);
  if (!site || !index) return PAGES.map((url) => ({ method: 'GET', url, handler: sayHowToBuild }));
  const beside = [...site.files].filter(([path]) => path !== SITE_INDEX && !path.startsWith(ASSETS));
  return [
    ...PAGES.map((url) => ({ method: 'GET', url, handler: pageHandler(deps, index) })),
    ...beside.map(([path, file]) => ({ method: 'GET', url: `/${path}`, handler: fileHandler(file, REVALIDATED) })),
    { method: 'GET', url: `/${ASSETS}*`, handler: assetHandler(site) },
  ];
}

type Handler = RouteOptions['handler'];

function sayHowToBuild(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .status(503)
    .headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .send(
      'The console has not been built. Build it with `npm run build --workspace apps/console`, then start the service again.\nEverything else works: /docs describes it.\n',
    );
}

/** The page names files that are gone after the next release, so a browser asks whether it is still the same. */
const REVALIDATED = 'no-cache';
/** Another content has another name. */
const UNCHANGING = 'public, max-age=31536000, immutable';

function pageHandler(deps: SiteDeps, index: SiteFile): Handler {
  return async (request, reply) => {
    reply.header('content-security-policy', await sitePolicy(deps));
    return sendFile(request, reply, index, REVALIDATED);
  };
}

function fileHandler(file: SiteFile, cacheControl: string): Handler {
  return (request, reply) => sendFile(request, reply, file, cacheControl);
}

function assetHandler(site: Site): Handler {
  return (request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    const file = site.files.get(path.slice(1));
    if (!file) throw new ApiError('ERR_ROUTE_NOT_FOUND', { method: request.method, path: path.slice(0, 200) });
    return sendFile(request, reply, file, UNCHANGING);
  };
}

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { contentType, encodings }: SiteFile,
  cacheControl: string,
): FastifyReply {
  const encoding = acceptedEncoding(request.headers['accept-encoding'], encodings);
  const { bytes, etag } = encodings[encoding] ?? encodings.identity;
  reply.headers({ 'content-type': contentType, 'cache-control': cacheControl, etag, vary: 'accept-encoding' });
  if (isKnown(request.headers['if-none-match'], etag)) return reply.status(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.send(bytes);
}

/** Proxies that compress by themselves weaken what they pass on (RFC 9110, 8.8.1): compared as weak ones are. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((entry) => entry.trim().replace(/^W\//, '') === etag);
}
