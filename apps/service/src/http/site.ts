/**
 * Serves the built console from memory. @fastify/static 10.1.11 would replace about 60 of these lines (encodings, content
 * types, conditional requests), but it tags a file by size and modification time. Every build of index.html has the same
 * size, and packagers that normalize times (npm pack, SOURCE_DATE_EPOCH) give every build the same time: a browser would
 * get 304 for the page of the previous release, whose assets are gone. The tags here are hashes of the bytes.
 */
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { ApiError, AUDIT_NODE_PARAMETER, IDENTITY_OPERATIONS, parseNodeOrigin } from '@flywheel/api';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import { hasCode } from '../model/has-code.ts';
import { entityTag, matchesTag } from './wire/entity-tags.ts';

/** A built page and the files that it loads, in memory. */
export interface Site {
  /** Files by their path below the site's root, `assets/index-3fa9.js`. */
  readonly files: ReadonlyMap<string, SiteFile>;
}

interface SiteFile {
  readonly contentType: string;
  /** The file itself, and the compressed forms that the build wrote. */
  readonly encodings: Readonly<Partial<Record<ContentEncoding, EncodedFile>>> & { readonly identity: EncodedFile };
}

interface EncodedFile {
  readonly bytes: Buffer;
  /** A strong entity tag: a hash of these bytes. */
  readonly etag: string;
}

type ContentEncoding = 'br' | 'gzip' | 'identity';

export interface SiteDeps {
  /** null: the console has not been built. */
  readonly site: Site | null;
  /** The URLs that the console's pages connect to besides this service: the cluster's RPC and WebSocket. */
  readonly readConnectUrls: () => Promise<readonly string[]>;
  readonly log: Logger;
}

/** The console's own addresses (apps/console/src/app/router.tsx). Each is answered with the same page. */
const PAGES = [
  ...['/', '/register', '/proof', '/vault/:address'],
  ...['/p/:projectId', '/p/:projectId/*', '/company', '/company/*'],
];

/** One more of the console's addresses, whose policy depends on the node that its query names. */
const AUDIT_PAGE = '/audit/:vault';

/** The build writes files here whose names change with their content. */
const ASSETS = 'assets/';

/** The page at every one of these addresses. Its presence shows that the site was built. */
const INDEX = 'index.html';

/**
 * Routes for the console's page at each of its addresses, and for the files that the page loads.
 * @param originOf the origin that a request reached this service at, e.g. `https://flywheel.example`
 */
export function siteRoutes(deps: SiteDeps, originOf: (request: FastifyRequest) => string): RouteOptions[] {
  const { site } = deps;
  const index = site?.files.get(INDEX);
  if (!site || !index) {
    return [...PAGES, AUDIT_PAGE].map((url) => ({ method: 'GET', url, handler: answerNotBuilt }));
  }
  const beside = [...site.files].filter(([path]) => path !== INDEX && !path.startsWith(ASSETS));
  return [
    ...PAGES.map((url) => ({ method: 'GET' as const, url, handler: pageHandler(deps, index) })),
    { method: 'GET', url: AUDIT_PAGE, handler: auditPageHandler(deps, index, originOf) },
    ...beside.map(([path, file]) => ({
      method: 'GET' as const,
      url: `/${path}`,
      handler: (request: FastifyRequest, reply: FastifyReply) => sendFile(request, reply, file, REVALIDATED),
    })),
    { method: 'GET', url: `/${ASSETS}*`, handler: assetHandler(site) },
  ];
}

export interface MissingPage {
  /** True if a browser asks for an address that no route has: a person reads the answer. A program gets JSON. */
  readonly isAsked: (request: FastifyRequest) => boolean;
  /** Answers 404 with the console's page, which says that the address is unknown and leads home. */
  readonly handler: NonNullable<RouteOptions['handler']>;
}

/** Addresses below which programs ask, whatever they accept. */
const OF_PROGRAMS = /^\/(v1|console|assets|health)\//;

export function missingPage(deps: SiteDeps): MissingPage {
  const index = deps.site?.files.get(INDEX);
  return {
    isAsked: ({ method, url, headers }) =>
      index !== undefined && method === 'GET' && (headers.accept ?? '').includes('text/html') && !OF_PROGRAMS.test(url),
    async handler(request, reply) {
      reply.status(404);
      return index === undefined ? reply.send() : pageHandler(deps, index).call(this, request, reply);
    },
  };
}

function answerNotBuilt(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .status(503)
    .headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .send(
      'The console has not been built. Build it with `npm run build --workspace apps/console`, then start the service again.\nEverything else works: /docs describes it.\n',
    );
}

/** The page names assets that the next release deletes, so browsers must revalidate it. */
const REVALIDATED = 'no-cache';
/** An asset with other content has another name. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

function pageHandler(deps: SiteDeps, index: SiteFile): RouteOptions['handler'] {
  return async (request, reply) => {
    const connections = (await readConnectUrls(deps)).map((url) => url.origin);
    reply.header('content-security-policy', contentSecurityPolicy(["'self'", ...connections]));
    return sendFile(request, reply, index, REVALIDATED);
  };
}

/**
 * The page that audits a vault may connect to one node and, of this service, to one operation, which answers everyone alike:
 * a session is of no use to it.
 */
function auditPageHandler(
  deps: SiteDeps,
  index: SiteFile,
  originOf: (request: FastifyRequest) => string,
): RouteOptions['handler'] {
  return async (request, reply) => {
    const own = originOf(request);
    const environment = `${own}${IDENTITY_OPERATIONS.getEnvironment.path}`;
    const nodes = await admittedNodes(deps, request, own);
    reply.header('content-security-policy', contentSecurityPolicy([environment, ...nodes]));
    return sendFile(request, reply, index, REVALIDATED);
  };
}

/**
 * The node that the query names; without one, the cluster's. None for a query that does not name one node strictly, or
 * names this service, whose operations the page could otherwise call.
 */
async function admittedNodes(deps: SiteDeps, request: FastifyRequest, own: string): Promise<readonly string[]> {
  const [, query = ''] = request.url.split('?', 2);
  const [named, ...others] = new URLSearchParams(query).getAll(AUDIT_NODE_PARAMETER);
  if (named === undefined) {
    const urls = (await readConnectUrls(deps)).filter(({ protocol }) => /^https?:$/.test(protocol));
    // A cluster that a proxy serves beside this service is named with its path.
    return urls.map(({ origin, pathname }) => (origin === own ? `${origin}${pathname}` : origin));
  }
  const origin = others.length === 0 ? parseNodeOrigin(named) : null;
  if (origin === null) return [];
  // Behind a proxy that ends TLS, this service may know its host only, and not its scheme.
  const ownHosts = [own, `https://${request.host}`].map((url) => new URL(url).host);
  return ownHosts.includes(new URL(origin).host) ? [] : [origin];
}

/** URLs of the cluster; none while they cannot be read. */
async function readConnectUrls({ readConnectUrls: read, log }: SiteDeps): Promise<URL[]> {
  const urls = await read().catch((error: unknown) => {
    log.warn({ err: error }, 'the console was served without the URLs of the cluster');
    return [];
  });
  return urls.map((url) => new URL(url));
}

/** A page may load only this service's own files, and connect only to these sources. */
function contentSecurityPolicy(connections: readonly string[]): string {
  return [...DIRECTIVES, `connect-src ${[...new Set(connections)].join(' ')}`].join('; ');
}

const DIRECTIVES = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  // Wallets announce their icons as data: URLs (Wallet Standard, WalletIcon).
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  // Text never becomes markup or script.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

function assetHandler(site: Site): RouteOptions['handler'] {
  return (request, reply) => {
    const [path = ''] = request.url.split('?', 1);
    const file = site.files.get(path.slice(1));
    if (!file) throw new ApiError('ERR_ROUTE_NOT_FOUND', { method: request.method, path: path.slice(0, 200) });
    return sendFile(request, reply, file, IMMUTABLE);
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
  if (matchesTag(request.headers['if-none-match'], etag)) return reply.status(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.send(bytes);
}

/** The smallest encoding comes first. */
const PREFERRED: readonly ContentEncoding[] = ['br', 'gzip'];

/** Chooses an available encoding by the Accept-Encoding header (RFC 9110, 12.5.3). `br;q=0` excludes br. */
function acceptedEncoding(header: string | undefined, available: SiteFile['encodings']): ContentEncoding {
  const wanted = (header ?? '').split(',').filter((entry) => !/;\s*q=0(\.0*)?\s*$/i.test(entry));
  const accepted = new Set(wanted.map((entry) => (entry.split(';', 1)[0] ?? '').trim().toLowerCase()));
  return PREFERRED.find((encoding) => available[encoding] !== undefined && accepted.has(encoding)) ?? 'identity';
}

/**
 * Reads a built site into memory. `name.br` and `name.gz` are compressed forms of `name`.
 * @returns null if the site was not built.
 * @throws Error for a file with an unknown extension.
 */
export async function readSite(directory: string): Promise<Site | null> {
  const paths = await pathsIn(directory);
  if (!paths.includes(INDEX)) return null;
  const contents = new Map(
    await Promise.all(paths.map(async (path) => [path, encodedFile(await readFile(join(directory, path)))] as const)),
  );
  const files = new Map<string, SiteFile>();
  for (const [path, identity] of contents) {
    if (path.endsWith('.br') || path.endsWith('.gz')) continue;
    const [br, gzip] = [contents.get(`${path}.br`), contents.get(`${path}.gz`)];
    files.set(path, {
      contentType: contentTypeOf(path),
      encodings: { identity, ...(br && { br }), ...(gzip && { gzip }) },
    });
  }
  return { files };
}

/** Vite writes files for itself into hidden folders; they are not served. */
const HIDDEN = /(^|\/)\./;

async function pathsIn(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(directory, join(parentPath, name)).replaceAll(sep, '/'))
      .filter((path) => !HIDDEN.test(path));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

function encodedFile(bytes: Buffer): EncodedFile {
  return { bytes, etag: entityTag(bytes) };
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

function contentTypeOf(path: string): string {
  const contentType = CONTENT_TYPES[extname(path)];
  if (contentType !== undefined) return contentType;
  throw new Error(`${path} has an unknown extension; a site may hold ${Object.keys(CONTENT_TYPES).join(', ')}.`);
}
