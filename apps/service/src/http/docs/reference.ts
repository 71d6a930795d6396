import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import scalar from '@scalar/fastify-api-reference';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ICON_URL } from './layout.ts';

/** Path of the interactive API reference; `/docs` redirects here. */
export const REFERENCE_PATH = '/docs/api/';

const SCRIPT_PATH = `${REFERENCE_PATH}js/scalar.js`;

/**
 * Registers the interactive API reference (Scalar), made from /openapi.json. The page and its script come from this
 * service and contact nothing else: no fonts, telemetry, proxy or assistant of the vendor.
 *
 * The page has a policy of its own. Scalar sets styles in elements, so `style-src` allows them, on this page alone. Its
 * script reaches the documented operations and /openapi.json, never the console's operations under /console/api: not
 * by requests (`connect-src`), not through frames, workers or forms, and not through a window that it opens, since every
 * other response of the service has `Cross-Origin-Opener-Policy: same-origin`, which separates such a window from this page.
 * @param originOf the origin that a request reached this service at, e.g. `https://flywheel.example`
 */
export function registerReference(server: FastifyInstance, originOf: (request: FastifyRequest) => string): void {
  server.register(async (scope) => {
    scope.addHook('onSend', async (request, reply, payload) => {
      if (reply.statusCode !== 200 || typeof payload !== 'string') return payload;
      return request.routeOptions.url === SCRIPT_PATH
        ? sendScript(request, reply, payload)
        : sendPage(reply, payload, originOf(request));
    });
    await scope.register(scalar, {
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
  });
}

function sendPage(reply: FastifyReply, page: string, origin: string): string {
  const html = page.replace('<html>', '<html lang="en">');
  const [, inlineScript = ''] = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(html) ?? [];
  const scriptHash = createHash('sha256').update(inlineScript).digest('base64');
  reply.headers({
    'content-security-policy': [
      "default-src 'none'",
      `script-src ${origin}${SCRIPT_PATH} 'sha256-${scriptHash}'`,
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
  return html;
}

/** The script is 3.9 MB; browsers keep it until the package's version changes its ETag. */
async function sendScript(request: FastifyRequest, reply: FastifyReply, script: string): Promise<string | Buffer> {
  packedScript ??= packScript(script);
  const { compressed, etag } = await packedScript;
  reply.headers({ etag, 'cache-control': 'public, max-age=3600, must-revalidate', vary: 'accept-encoding' });
  if (request.headers['if-none-match'] === etag) {
    reply.code(304);
    return '';
  }
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return script;
  reply.header('content-encoding', 'gzip');
  return compressed;
}

interface PackedScript {
  readonly compressed: Buffer;
  readonly etag: string;
}

/** Compressed when it is first requested: most processes never serve it. */
let packedScript: Promise<PackedScript> | undefined;

async function packScript(script: string): Promise<PackedScript> {
  const hash = createHash('sha256').update(script).digest('base64url');
  return { compressed: await promisify(gzip)(script), etag: `"${hash}"` };
}
