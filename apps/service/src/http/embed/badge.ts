import { groupDigits } from '@flywheel/protocol';
import type { VaultFigures } from '../../proofs/vault-figures.ts';
import { escapeHtml } from '../docs/layout.ts';

const HEIGHT = 20;
const PADDING = 6;
/** The mark takes this width before the label. */
const MARK = 16;
const LABEL = 'burned';

/** Draws a badge of 20 pixels in height: the mark, `burned`, and the amount. The text of the image says the same. */
export function renderBadge({ burned, symbol }: Pick<VaultFigures, 'burned' | 'symbol'>): string {
  const amount = `${groupDigits(burned)} ${symbol ?? 'tokens'}`;
  const [label, value] = [
    { text: LABEL, px: widthOf(LABEL) },
    { text: amount, px: widthOf(amount) },
  ];
  const leftPx = MARK + label.px + PADDING * 2;
  const widthPx = leftPx + value.px + PADDING * 2;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${widthPx}" height="${HEIGHT}" role="img" aria-label="${LABEL}: ${escapeHtml(amount)}">
<title>${LABEL}: ${escapeHtml(amount)}</title>
<clipPath id="r"><rect width="${widthPx}" height="${HEIGHT}" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="${leftPx}" height="${HEIGHT}" fill="#1b1a17"/><rect x="${leftPx}" width="${widthPx - leftPx}" height="${HEIGHT}" fill="#b93d0d"/></g>
<circle cx="13" cy="10" r="4.5" fill="none" stroke="#ff9a66" stroke-width="2" stroke-linecap="round" stroke-dasharray="23 5.3" transform="rotate(-62 13 10)"/>
<g fill="#ffffff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="${MARK + PADDING}" y="14" textLength="${label.px}">${label.text}</text>
<text x="${leftPx + PADDING}" y="14" textLength="${value.px}">${escapeHtml(value.text)}</text>
</g>
</svg>
`;
}

/** Widths of characters of Verdana at 11 px. `textLength` fits other fonts into the same space. */
const CHARACTER_PX = { digit: 7, narrow: 4, capital: 8.5, small: 6.6, other: 9 } as const;

function widthOf(text: string): number {
  const px = [...text].reduce((sum, character) => sum + CHARACTER_PX[kindOf(character)], 0);
  return Math.ceil(px);
}

function kindOf(character: string): keyof typeof CHARACTER_PX {
  if (/[0-9]/.test(character)) return 'digit';
  if (/[.,\s]/.test(character)) return 'narrow';
  if (/[A-Z]/.test(character)) return 'capital';
  return /[a-z]/.test(character) ? 'small' : 'other';
}
