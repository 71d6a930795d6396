import { createHash } from 'node:crypto';
import { groupDigits, shorten } from '@flywheel/protocol';
import type { VaultFigures } from '../../proofs/vault-figures.ts';
import { escapeHtml } from '../docs/layout.ts';

/** Colours of the widget: the reader's, or the one that the page around it asks for. */
export type Theme = 'system' | 'light' | 'dark';

/** Colours are those of the console (apps/console/src/styles.css). */
const STYLE = `
:root { color-scheme: light dark; }
:root.light { color-scheme: light; }
:root.dark { color-scheme: dark; }
* { box-sizing: border-box; margin: 0; }
body { color: light-dark(#1b1a17, #f1eee7); font: 13px/20px system-ui, sans-serif; }
main { background: light-dark(#ffffff, #1a1917); border: 1px solid light-dark(#e3dfd6, #322f2b); border-radius: 10px; min-height: 100vh; padding: 12px 16px; display: flex; flex-direction: column; justify-content: space-between; gap: 8px; }
h1 { font-size: 13px; font-weight: 400; color: light-dark(#5d5850, #aaa499); display: flex; align-items: center; gap: 8px; }
svg { width: 16px; height: 16px; color: light-dark(#b93d0d, #ff9a66); }
.amount { font-size: 22px; line-height: 28px; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.amount bdi { font-size: 13px; font-weight: 400; color: light-dark(#5d5850, #aaa499); }
.quiet { color: light-dark(#5d5850, #aaa499); }
code { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere; }
a { color: light-dark(#4338ca, #a5a8ff); }
a:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; border-radius: 2px; }
`;

/** Of the style in the page, as Content-Security-Policy writes it. */
export const WIDGET_STYLE_HASH = `sha256-${createHash('sha256').update(STYLE).digest('base64')}`;

/** A link out of the frame: the page around it stays, and the new page cannot reach it. */
const OUT = 'target="_blank" rel="noopener noreferrer"';

/** Writes the page of the widget: what a vault has burned so far, and its last proof, with links to check both. */
export function renderWidget({ vault, symbol, burned, lastProof }: VaultFigures, theme: Theme): string {
  const amount = groupDigits(burned);
  const unit = symbol ?? 'tokens';
  return `<!doctype html>
<html lang="en"${theme === 'system' ? '' : ` class="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Burned so far: ${escapeHtml(`${amount} ${unit}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="3.5" stroke-linecap="round" stroke-dasharray="46 11" transform="rotate(-62 12 12)"/></svg>Burned so far</h1>
<p class="amount">${escapeHtml(amount)} <bdi>${escapeHtml(unit)}</bdi></p>
<p>${renderProof(lastProof)}</p>
<p class="quiet">Vault <a href="/vault/${encodeURIComponent(vault)}" ${OUT}><code>${escapeHtml(shorten(vault))}</code></a></p>
</main>
</body>
</html>
`;
}

function renderProof(proof: VaultFigures['lastProof']): string {
  if (proof === null) return '<span class="quiet">No proof yet</span>';
  const { type, at, signature } = proof;
  const iso = at.toISOString();
  const time = `<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
  const check =
    signature === null ? '' : ` · <a href="/proof?signature=${encodeURIComponent(signature)}" ${OUT}>Check it</a>`;
  return `<span class="quiet">Last proof</span> <code>${escapeHtml(type)}</code><br><span class="quiet">${time}</span>${check}`;
}
