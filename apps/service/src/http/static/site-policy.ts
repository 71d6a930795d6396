import type { Logger } from 'pino';

export interface SitePolicyDeps {
  /** What the console's pages talk to beside this service: the cluster's RPC and WebSocket URLs for browsers. */
  readonly readConnectUrls: () => Promise<readonly string[]>;
  readonly log: Logger;
}

/**
 * What the console's page may load and do, as a Content-Security-Policy: nothing that is not this service's own, and
 * the cluster. A page that comes while the cluster cannot be asked where it is talks to this service alone.
 */
export async function sitePolicy({ readConnectUrls, log }: SitePolicyDeps): Promise<string> {
  const connectUrls = await readConnectUrls().catch((error: unknown) => {
    log.warn({ err: error }, 'the console was served without a way to the cluster');
    return [];
  });
  const connections = new Set(connectUrls.map((url) => new URL(url).origin));
  return [...DIRECTIVES, `connect-src ${["'self'", ...connections].join(' ')}`].join('; ');
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
  // No text becomes markup or script.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];
