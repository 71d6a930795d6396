import { type Html, html } from '../html.ts';
import { type ContentsLink, contentsList, type DocsPage, layout } from '../layout.ts';
import { CONTENTS_FILE, type Guide, type GuidePage, guideAddress } from './guide.ts';
import { guideLink } from './guide-link.ts';
import { plainText } from './inline-markdown.ts';
import type { Block } from './markdown.ts';
import { renderMarkdown } from './render-markdown.ts';

/** A page of the guide as a browser shows it: every page beside it, its own headings below the one that is shown. */
export function guidePage(guide: Guide, page: Exclude<GuidePage, { readonly kind: 'image' }>): DocsPage {
  const main =
    page.kind === 'text'
      ? html`<article>${renderMarkdown(page.blocks, guideLink(guide, page.file))}</article>`
      : html`<article><h1><code>${page.title}</code></h1><pre class="whole" tabindex="0"><code>${page.source}</code></pre></article>`;
  return layout({ title: `${plainText(page.title)} – Flywheel`, contents: contents(guide, page), main });
}

function contents(guide: Guide, page: Exclude<GuidePage, { readonly kind: 'image' }>): Html {
  const resolve = guideLink(guide, CONTENTS_FILE);
  const shown = `/docs/${guideAddress(page.file)}`;
  const groups = guide.contents.map(({ title, links }) => {
    const entries = links.flatMap(({ title: label, target }): ContentsLink[] => {
      const href = resolve(target);
      return href === null ? [] : [{ href, label: html`${plainText(label)}`, isCurrent: href === shown }];
    });
    return contentsList(title, entries);
  });
  return html`${page.kind === 'text' ? headings(page.blocks) : null}${groups}`;
}

/** A short page needs no list of its parts. */
const HEADINGS_WORTH_LISTING = 3;

function headings(blocks: readonly Block[]): Html | null {
  const parts = blocks.flatMap((block) => (block.kind === 'heading' && block.level === 2 ? [block] : []));
  if (parts.length < HEADINGS_WORTH_LISTING) return null;
  return contentsList(
    'On this page',
    parts.map(({ id, text }) => ({ href: `#${id}`, label: html`${plainText(text)}` })),
  );
}
