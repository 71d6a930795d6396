import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { FRESH_MS, type VaultFigures } from '../../proofs/vault-figures.ts';
import type { AddressLimits } from '../operations/address-limits.ts';
import { entityTag, matchesTag } from '../wire/entity-tags.ts';
import { renderBadge } from './badge.ts';
import { renderWidget, type Theme, WIDGET_STYLE_HASH } from './widget.ts';

export interface EmbedDeps {
  /** Reads the figures of a vault; `admit` is called only if they are not remembered. */
  readonly readVaultFigures: (address: string, admit: () => void) => Promise<VaultFigures>;
  readonly addressLimits: AddressLimits;
}

/** Browsers and proxies keep an answer as long as this process does. */
const CACHE_CONTROL = `public, max-age=${FRESH_MS / 1_000}`;

/** The image may not load or run anything, and is no page to frame. */
const BADGE_POLICY = "default-src 'none'; frame-ancestors 'none'";

/**
 * The widget may be framed by anyone. It may use its own style and nothing else; the sandbox gives it no origin and no script,
 * so that it could read nothing of this service even if its markup were not escaped. Its links open in new tabs.
 */
const WIDGET_POLICY = [
  "default-src 'none'",
  `style-src '${WIDGET_STYLE_HASH}'`,
  "base-uri 'none'",
  "form-action 'none'",
  'frame-ancestors *',
  'sandbox allow-popups allow-popups-to-escape-sandbox',
].join('; ');

/** Routes for pages of others: a badge and a widget with a vault's figures. They read no cookie and set none. */
export function embedRoutes({ readVaultFigures, addressLimits }: EmbedDeps): RouteOptions[] {
  const read = (request: FastifyRequest<{ Params: VaultParams }>) =>
    readVaultFigures(request.params.address, () => addressLimits.count('any', request.exchange.context.address));
  const route = (url: string, answer: (figures: VaultFigures, request: FastifyRequest) => Answer): RouteOptions => ({
    method: 'GET',
    url,
    handler: async (request, reply) => {
      // The router has found `:address` in the path.
      const figures = await read(request as FastifyRequest<{ Params: VaultParams }>);
      return send(request, reply, answer(figures, request));
    },
  });
  return [
    route('/embed/:address', (figures, request) => ({
      body: renderWidget(figures, themeOf(request.query)),
      contentType: 'text/html; charset=utf-8',
      policy: WIDGET_POLICY,
    })),
    route('/embed/:address/badge.svg', (figures) => ({
      body: renderBadge(figures),
      contentType: 'image/svg+xml',
      policy: BADGE_POLICY,
    })),
  ];
}

interface VaultParams {
  readonly address: string;
}

interface Answer {
  readonly body: string;
  readonly contentType: string;
  /** Content-Security-Policy. */
  readonly policy: string;
}

function send(request: FastifyRequest, reply: FastifyReply, { body, contentType, policy }: Answer): FastifyReply {
  const etag = entityTag(body);
  reply.headers({
    'content-type': contentType,
    'content-security-policy': policy,
    'cache-control': CACHE_CONTROL,
    etag,
    // Pages of other origins load it.
    'cross-origin-resource-policy': 'cross-origin',
  });
  return matchesTag(request.headers['if-none-match'], etag) ? reply.status(304).send() : reply.send(body);
}

/** Parses `?theme=`; anything else follows the reader's system. */
function themeOf(query: unknown): Theme {
  const theme = typeof query === 'object' && query !== null && 'theme' in query ? query.theme : null;
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}
