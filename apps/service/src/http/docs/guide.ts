import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import GithubSlugger from 'github-slugger';
import markdownIt, { type Token } from 'markdown-it';
import { type ContentsLink, contentsList, type DocsPage, escapeHtml, layout } from './layout.ts';

/** A file that the service shows under /docs/: a page of docs/, an image, or a program of examples/. */
export type GuideFile =
  | { readonly kind: 'page'; readonly page: DocsPage }
  | { readonly kind: 'image'; readonly source: string };

/** The page that lists all others; its lists stand beside every page. */
const CONTENTS_FILE = 'docs/README.md';

/**
 * Reads and renders every page below a repository's docs/ and every program below its examples/, by address below
 * /docs/: `tutorial`, `how-to/rotate-keys`, `examples/run-batch.ts`, `flywheel.svg`. The map is empty where these folders
 * do not exist, as in an installed copy of the service.
 */
export function readGuide(root: string): ReadonlyMap<string, GuideFile> {
  const files = [
    ...filesBelow(root, 'docs', ['.md', '.svg']),
    ...filesBelow(root, 'examples', ['.ts', '.js', '.json', '.py']),
  ];
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const resolver = (file: string) => createLinkResolver(file, new Set(files));
  const contents = readContents(sources.get(CONTENTS_FILE) ?? '', resolver(CONTENTS_FILE));
  return new Map(
    [...sources].map(([file, source]) => [
      guideAddress(file),
      file.endsWith('.svg')
        ? { kind: 'image', source }
        : { kind: 'page', page: renderPage(file, source, contents, resolver(file)) },
    ]),
  );
}

function filesBelow(root: string, folder: string, extensions: readonly string[]): string[] {
  const directory = join(root, folder);
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(folder, path.replaceAll('\\', '/')))
    .filter((file) => extensions.includes(extname(file)))
    .sort();
}

/** Converts a link of a page to an address that this service serves; null when it serves nothing there. */
type ResolveLink = (target: string) => string | null;

/**
 * Markdown links by file, as GitHub shows it; the served pages link by address. Files of the repository that are not
 * served (sources, deployment) have no address.
 */
function createLinkResolver(file: string, files: ReadonlySet<string>): ResolveLink {
  return (target) => {
    if (target.startsWith('#') || target.startsWith('/')) return target;
    if (/^[a-z]+:/i.test(target)) return /^https?:/i.test(target) ? target : null;
    const [path = '', anchor] = target.split('#', 2);
    const linked = posix.join(posix.dirname(file), path);
    // The API reference shows the document to people.
    if (linked === 'docs/openapi.json') return '/docs';
    if (!files.has(linked)) return null;
    return `/docs/${guideAddress(linked)}${anchor === undefined ? '' : `#${anchor}`}`;
  };
}

/** A folder's README has the folder's address. The one of docs/ is `guide`, because /docs is the API reference. */
function guideAddress(file: string): string {
  if (file === CONTENTS_FILE) return 'guide';
  if (file.startsWith('examples/')) return file;
  return file.slice('docs/'.length).replace(/(\/README)?\.md$/, '');
}

interface ContentsGroup {
  readonly title: string;
  readonly links: readonly { readonly label: string; readonly href: string }[];
}

/** Reads the lists below the headings of docs/README.md: each item begins with a link. */
function readContents(source: string, resolve: ResolveLink): ContentsGroup[] {
  const groups: { title: string; links: { label: string; href: string }[] }[] = [];
  const tokens = parseMarkdown(source);
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') groups.push({ title: textOf(tokens[index + 1]), links: [] });
    if (token.type !== 'list_item_open') continue;
    const [link, label] = tokens[index + 2]?.children ?? [];
    const href = resolve(attributeOf(link, 'href'));
    if (link?.type === 'link_open' && href !== null) groups.at(-1)?.links.push({ label: label?.content ?? '', href });
  }
  return groups.filter(({ links }) => links.length > 0);
}

function renderPage(file: string, source: string, contents: readonly ContentsGroup[], resolve: ResolveLink): DocsPage {
  const isProgram = !file.endsWith('.md');
  const tokens = isProgram ? [] : parseMarkdown(source);
  const title = isProgram ? file : textOf(tokens[tokens.findIndex(({ type }) => type === 'heading_open') + 1]);
  const main = isProgram
    ? `<h1><code>${escapeHtml(title)}</code></h1><pre class="whole" tabindex="0"><code>${escapeHtml(source)}</code></pre>`
    : markdown.renderer.render(resolveLinks(tokens, resolve), markdown.options, {});
  const shown = `/docs/${guideAddress(file)}`;
  const groups = contents.map((group) =>
    contentsList(
      group.title,
      group.links.map(({ label, href }): ContentsLink => ({ href, label, isCurrent: href === shown })),
    ),
  );
  return layout({
    title: `${title} – Flywheel`,
    contents: `${headingsOf(tokens)}${groups.join('')}`,
    main: `<article>${main}</article>`,
  });
}

/** A page with fewer sections has no list of its own sections. */
const MIN_LISTED_SECTIONS = 3;

function headingsOf(tokens: readonly Token[]): string {
  const sections = tokens.flatMap((token, index) =>
    token.type === 'heading_open' && token.tag === 'h2'
      ? [{ href: `#${token.attrGet('id')}`, label: textOf(tokens[index + 1]) }]
      : [],
  );
  return sections.length < MIN_LISTED_SECTIONS ? '' : contentsList('On this page', sections);
}

const markdown = createMarkdown();

/** Parses a page; its headings have the ids that GitHub gives them. */
export function parseMarkdown(source: string): Token[] {
  return markdown.parse(source, {});
}

/** CommonMark with tables, without HTML: comments are left out and anything else is shown as text. */
function createMarkdown() {
  const created = markdownIt({ html: true });
  const { rules } = created.renderer;
  rules.html_block = ([...tokens], index) => renderRawHtml(tokens[index]);
  rules.html_inline = ([...tokens], index) => renderRawHtml(tokens[index]);
  rules.fence = ([...tokens], index) =>
    `<pre tabindex="0"><code>${escapeHtml((tokens[index]?.content ?? '').trimEnd())}</code></pre>\n`;
  // A wide table scrolls by itself, so that the page never does.
  rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  created.core.ruler.push('heading_ids', ({ tokens }) => addHeadingIds(tokens));
  return created;
}

function renderRawHtml(token: Token | undefined): string {
  const content = token?.content ?? '';
  return /^\s*<!--[\s\S]*-->\s*$/.test(content) ? '' : escapeHtml(content);
}

/** Gives each heading its id, and each below the title a link to itself, whose address a reader can copy. */
function addHeadingIds(tokens: readonly Token[]): void {
  const slugger = new GithubSlugger();
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading_open') continue;
    const id = slugger.slug(textOf(tokens[index + 1]));
    token.attrSet('id', id);
    if (token.tag !== 'h1') tokens[index + 1]?.children?.unshift(...anchorTokens(id));
  }
}

function anchorTokens(id: string): Token[] {
  const [{ children } = { children: null }] = markdown.parseInline(`[#](#${encodeURIComponent(id)})`, {});
  const anchor = children ?? [];
  for (const [name, value] of [
    ['class', 'anchor'],
    ['aria-hidden', 'true'],
    ['tabindex', '-1'],
  ] as const) {
    anchor[0]?.attrSet(name, value);
  }
  return anchor;
}

/** Text of a heading or a label without its marks and without the link to itself. */
function textOf(inline: Token | undefined): string {
  const children = inline?.children ?? [];
  const visible = children[0]?.attrGet('class') === 'anchor' ? children.slice(3) : children;
  return visible.map(({ content }) => content).join('');
}

/** Rewrites links and images to served addresses; a link without one becomes its text. */
function resolveLinks(tokens: readonly Token[], resolve: ResolveLink): Token[] {
  for (const inline of tokens) {
    if (inline.children === null) continue;
    let isDropping = false;
    inline.children = inline.children.filter((token) => {
      if (token.type === 'image') token.attrSet('src', resolve(attributeOf(token, 'src')) ?? '');
      if (token.type === 'link_open') {
        const href = resolve(attributeOf(token, 'href'));
        isDropping = href === null;
        if (href !== null) token.attrSet('href', href);
      }
      return !(isDropping && (token.type === 'link_open' || token.type === 'link_close'));
    });
  }
  return [...tokens];
}

function attributeOf(token: Token | undefined, name: string): string {
  return String(token?.attrGet(name) ?? '');
}
