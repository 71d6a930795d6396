import { createHash } from 'node:crypto';
import { type Html, html } from './html.ts';
import { STYLE } from './style.ts';

export interface DocsPage {
  readonly html: string;
  /** Allows this page's own style, this service's images and nothing else. */
  readonly contentSecurityPolicy: string;
}

export interface PageParts {
  readonly title: string;
  /** What stands beside the text: lists of links. */
  readonly contents: Html;
  readonly main: Html;
}

/** A whole page in the one style that all of /docs has. */
export function layout({ title, contents, main }: PageParts): DocsPage {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${`data:image/svg+xml,${encodeURIComponent(MARK_ICON)}`}">
<style>${{ markup: STYLE }}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<div class="top">${BRAND}<a href="#contents">Contents</a></div>
<div class="page">
<nav id="contents" aria-label="Contents">
${BRAND}
${contents}
</nav>
<main id="main">
${main}
</main>
</div>
</body>
</html>
`;
  return { html: page.markup, contentSecurityPolicy: CONTENT_SECURITY_POLICY };
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** The mark: a ring with one gap. */
const MARK = html`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-dasharray="46 11" transform="rotate(-62 12 12)"/></svg>`;
const BRAND = html`<a class="brand" href="/docs/guide">${MARK}Flywheel</a>`;
const MARK_ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9" fill="none" stroke="#2f5d8a" stroke-width="3.5" stroke-linecap="round" stroke-dasharray="46 11" transform="rotate(-62 12 12)"/></svg>';

export interface ContentsLink {
  readonly href: string;
  readonly label: Html;
  /** The page that is shown. */
  readonly isCurrent?: boolean;
}

/** A titled list of links beside the text. */
export function contentsList(title: string, links: readonly ContentsLink[]): Html {
  return html`<h2>${title}</h2><ul>${links.map(
    ({ href, label, isCurrent }) =>
      html`<li><a href="${href}"${isCurrent ? html` aria-current="page"` : null}>${label}</a></li>`,
  )}</ul>`;
}
