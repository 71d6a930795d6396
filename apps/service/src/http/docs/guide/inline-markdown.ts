import { type Html, html } from '../html.ts';

/** Where a link of a page leads once it is served; null: nowhere that a browser could go, so its text alone is shown. */
export type ResolveLink = (target: string) => string | null;

/** What stands inside a paragraph, a cell or a heading: code, links, images, bold, italics. The rest is escaped. */
export function inlineMarkdown(text: string, resolve: ResolveLink): Html {
  const parts: Html[] = [];
  let rest = text;
  while (rest !== '') {
    const found = nextSpan(rest);
    if (!found) {
      parts.push(html`${rest}`);
      break;
    }
    parts.push(html`${rest.slice(0, found.index)}`, span(found, resolve));
    rest = rest.slice(found.index + found[0].length);
  }
  return html`${parts}`;
}

/** The text of a line without its marks. */
export function plainText(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
}

/** In this order where two begin at one place. */
const SPAN = new RegExp(
  [
    /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)/,
    /!\[(?<alt>[^\]]*)\]\((?<source>[^)\s]+)\)/,
    /\[(?<label>(?:[^\]`]|`[^`]*`)+)\]\((?<target>[^)\s]+)\)/,
    /\*\*(?<bold>.+?)\*\*(?!\*)/,
    /(?<![\w*])\*(?<italic>[^*\s](?:[^*]*[^*\s])?)\*(?!\w)/,
    /\\(?<escaped>[\\`*_[\]|<>#-])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  's',
);

function nextSpan(text: string): RegExpExecArray | null {
  return SPAN.exec(text);
}

function span({ groups = {} }: RegExpExecArray, resolve: ResolveLink): Html {
  const { code, alt, source, label, target, bold, italic, escaped } = groups;
  if (code !== undefined) return html`<code>${code.replace(/^ (.+) $/s, '$1')}</code>`;
  if (source !== undefined) return html`<img src="${resolve(source) ?? ''}" alt="${alt ?? ''}">`;
  if (label !== undefined) return link(inlineMarkdown(label, resolve), resolve(target ?? ''));
  if (bold !== undefined) return html`<strong>${inlineMarkdown(bold, resolve)}</strong>`;
  if (italic !== undefined) return html`<em>${inlineMarkdown(italic, resolve)}</em>`;
  return html`${escaped ?? ''}`;
}

function link(label: Html, href: string | null): Html {
  return href === null ? label : html`<a href="${href}">${label}</a>`;
}
