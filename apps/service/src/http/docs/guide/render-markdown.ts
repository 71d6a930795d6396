import { type Html, html } from '../html.ts';
import { inlineMarkdown, type ResolveLink } from './inline-markdown.ts';
import type { Block } from './markdown.ts';

/** A page's blocks as markup. Headings below the title link to themselves. */
export function renderMarkdown(blocks: readonly Block[], resolve: ResolveLink): Html {
  return html`${blocks.map((block) => html`${renderBlock(block, resolve)}\n`)}`;
}

function renderBlock(block: Block, resolve: ResolveLink): Html {
  const inline = (text: string) => inlineMarkdown(text, resolve);
  switch (block.kind) {
    case 'heading':
      return heading(block.level, block.id, inline(block.text));
    case 'paragraph':
      return html`<p>${inline(block.text)}</p>`;
    case 'code':
      return html`<pre tabindex="0"><code>${block.text}</code></pre>`;
    case 'list':
      return list(block.isOrdered, block.items, resolve);
    case 'table':
      return table(
        block.head.map(inline),
        block.rows.map((row) => row.map(inline)),
      );
    case 'quote':
      return html`<blockquote>${renderMarkdown(block.blocks, resolve)}</blockquote>`;
  }
}

/** Six levels are HTML's; a heading that links to itself can be copied as an address. */
function heading(level: number, id: string, text: Html): Html {
  const tag = { markup: `h${level}` };
  if (level === 1) return html`<h1 id="${id}">${text}</h1>`;
  return html`<${tag} id="${id}"><a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a>${text}</${tag}>`;
}

function list(isOrdered: boolean, items: readonly (readonly Block[])[], resolve: ResolveLink): Html {
  const tag = { markup: isOrdered ? 'ol' : 'ul' };
  return html`<${tag}>${items.map((item) => html`<li>${itemMarkup(item, resolve)}</li>`)}</${tag}>`;
}

/** An item of one paragraph is shown without the paragraph's distance. */
function itemMarkup(item: readonly Block[], resolve: ResolveLink): Html {
  const [first, ...rest] = item;
  if (first?.kind !== 'paragraph') return renderMarkdown(item, resolve);
  return html`${inlineMarkdown(first.text, resolve)}${renderMarkdown(rest, resolve)}`;
}

/** Wide tables scroll by themselves, so that the page never does. */
function table(head: readonly Html[], rows: readonly (readonly Html[])[]): Html {
  const isHeadless = head.every(({ markup }) => markup === '');
  return html`<div class="table" tabindex="0"><table>${
    isHeadless ? null : html`<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>`
  }<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}
