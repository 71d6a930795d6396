import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify, { type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify';
import { entityTag, matchesTag } from '../wire/entity-tags.ts';
import { ICON_URL } from './layout.ts';

/** Path of the interactive API reference; `/docs` redirects here. */
export const REFERENCE_PATH = '/docs/api/';

const SCRIPT_PATH = `${REFERENCE_PATH}js/scalar.js`;

/**
 * Lists the routes of the interactive API reference (Scalar), made from /openapi.json. The page and its script come from
 * this service and contact nothing else: no fonts, telemetry, proxy or assistant of the vendor.
 *
 * The page has a policy of its own. Scalar sets styles in elements, so `style-src` allows them, on this page alone. Its
 * script reaches the documented operations and /openapi.json, never the console's operations under /console/api: not
 * by requests (`connect-src`), not through frames, workers or forms, and not through a window that it opens, since every
 * other response of the service has `Cross-Origin-Opener-Policy: same-origin`, which separates such a window from this page.
 * @param originOf the origin that a request reached this service at, e.g. `https://flywheel.example`
 */
export function referenceRoutes(originOf: (request: FastifyRequest) => string): RouteOptions[] {
  return [
    {
      method: 'GET',
      url: REFERENCE_PATH,
      handler: async (request, reply) => sendPage(reply, await openReference(), originOf(request)),
    },
    {
      method: 'GET',
      url: SCRIPT_PATH,
      handler: async (request, reply) => sendScript(request, reply, await openReference()),
    },
  ];
}

interface Reference {
  readonly page: string;
  /** Of the script that stands in the page, as Content-Security-Policy writes it. */
  readonly inlineScriptHash: string;
  readonly script: string;
  readonly compressedScript: Buffer;
  /** Changes with the package's version. */
  readonly scriptEtag: string;
}

let reference: Promise<Reference> | undefined;

/** Loads the reference at its first request: its 4.4 MB and 200 modules would double the time of every start. */
function openReference(): Promise<Reference> {
  reference ??= renderReference();
  return reference;
}

async function renderReference(): Promise<Reference> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  await server.register(scalar, {
    routePrefix: REFERENCE_PATH,
    configuration: {
      url: '/openapi.json',
      pageTitle: 'Flywheel API reference',
      favicon: ICON_URL,
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
      defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
      authentication: { preferredSecurityScheme: 'apiKey' },
      defaultOpenAllTags: true,
      persistAuth: false,
    },
  });
  const { body: html } = await server.inject(REFERENCE_PATH);
  const { body: script } = await server.inject(SCRIPT_PATH);
  await server.close();
  const [, inlineScript = ''] = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(html) ?? [];
  return {
    page: html.replace('<html>', '<html lang="en">'),
    inlineScriptHash: `sha256-${createHash('sha256').update(inlineScript).digest('base64')}`,
    script,
    compressedScript: await promisify(gzip)(script),
    scriptEtag: entityTag(script),
  };
}

function sendPage(reply: FastifyReply, { page, inlineScriptHash }: Reference, origin: string): FastifyReply {
  reply.headers({
    'content-security-policy': [
      "default-src 'none'",
      `script-src ${origin}${SCRIPT_PATH} '${inlineScriptHash}'`,
      "style-src 'unsafe-inline'",
      "img-src 'self' data:",
      `connect-src ${origin}/v1/ ${origin}/openapi.json`,
      "worker-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; '),
    // Differs from every other response: a window that this page opens cannot be read by it.
    'cross-origin-opener-policy': 'unsafe-none',
    'content-type': 'text/html; charset=utf-8',
  });
  return reply.send(page);
}

function sendScript(
  request: FastifyRequest,
  reply: FastifyReply,
  { script, compressedScript, scriptEtag }: Reference,
): FastifyReply {
  reply.headers({
    etag: scriptEtag,
    'cache-control': 'public, max-age=3600, must-revalidate',
    vary: 'accept-encoding',
    'content-type': 'application/javascript; charset=utf-8',
  });
  if (matchesTag(request.headers['if-none-match'], scriptEtag)) return reply.code(304).send();
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(script);
  return reply.header('content-encoding', 'gzip').send(compressedScript);
}
