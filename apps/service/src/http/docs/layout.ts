import { createHash } from 'node:crypto';
import { STYLE } from './style.ts';

export interface DocsPage {
  readonly html: string;
  /** Allows the page's own style, this service's images, and nothing else. */
  readonly contentSecurityPolicy: string;
}

export interface PageParts {
  /** Plain text. */
  readonly title: string;
  /** Markup of the lists of links beside the text. */
  readonly contents: string;
  /** Markup of the text. */
  readonly main: string;
}

/** Puts the parts of a page of the guide into the frame and the style that all its pages share. */
export function layout({ title, contents, main }: PageParts): DocsPage {
  return { html: pageHtml({ title, contents, main }), contentSecurityPolicy: CONTENT_SECURITY_POLICY };
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

function pageHtml({ title, contents, main }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${escapeHtml(ICON_URL)}">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<div class="top">${BRAND}<a href="#contents">Contents</a></div>
<div class="page">
<nav id="contents" aria-label="Contents">
${BRAND}
${contentsList('API', [{ href: '/docs', label: 'API reference' }])}
${contents}
</nav>
<main id="main">
${main}
</main>
</div>
</body>
</html>
`;
}

/** The mark of Flywheel, a ring with one gap, as the icon of a page. */
export const ICON_URL = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9" fill="none" stroke="#2f5d8a" stroke-width="3.5" stroke-linecap="round" stroke-dasharray="46 11" transform="rotate(-62 12 12)"/></svg>',
)}`;

const BRAND =
  '<a class="brand" href="/docs/guide"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-dasharray="46 11" transform="rotate(-62 12 12)"/></svg>Flywheel</a>';

export interface ContentsLink {
  readonly href: string;
  /** Plain text. */
  readonly label: string;
  readonly isCurrent?: boolean;
}

/** Markup of a titled list of links. */
export function contentsList(title: string, links: readonly ContentsLink[]): string {
  const items = links.map(
    ({ href, label, isCurrent }) =>
      `<li><a href="${escapeHtml(href)}"${isCurrent ? ' aria-current="page"' : ''}>${escapeHtml(label)}</a></li>`,
  );
  return `<h2>${escapeHtml(title)}</h2><ul>${items.join('')}</ul>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as markup that shows it, in an element or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
