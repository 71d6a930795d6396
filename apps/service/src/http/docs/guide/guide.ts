import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { type Block, parseMarkdown } from './markdown.ts';

/** The written pages, and the programs that they speak of. */
export interface Guide {
  /** By address below /docs/: `tutorial`, `how-to/rotate-keys`, `examples/run-batch.ts`, `flywheel.svg`. */
  readonly pages: ReadonlyMap<string, GuidePage>;
  /** The list beside every page, as docs/README.md gives it. */
  readonly contents: readonly ContentsGroup[];
}

export type GuidePage =
  | { readonly kind: 'text'; readonly file: string; readonly title: string; readonly blocks: readonly Block[] }
  | { readonly kind: 'source'; readonly file: string; readonly title: string; readonly source: string }
  | { readonly kind: 'image'; readonly file: string; readonly source: string };

export interface ContentsGroup {
  readonly title: string;
  readonly links: readonly { readonly title: string; readonly target: string }[];
}

/** Of the repository: what lists all pages. */
export const CONTENTS_FILE = 'docs/README.md';

/**
 * Reads every page below a repository's docs/ and every program below its examples/. Where there are none, as in a copy
 * of the service alone, there are no pages.
 */
export function readGuide(root: string): Guide {
  const files = [
    ...filesBelow(root, 'docs', ['.md', '.svg']),
    ...filesBelow(root, 'examples', ['.ts', '.js', '.json']),
  ];
  const pages = new Map(files.map((file) => [guideAddress(file), readPage(root, file)]));
  const list = pages.get(guideAddress(CONTENTS_FILE));
  return { pages, contents: list?.kind === 'text' ? contentsOf(list.blocks) : [] };
}

/**
 * Where a file of the repository stands below /docs/: a folder's README is the folder itself, and the one of docs/, which
 * would be /docs, the reference's address, is `guide`.
 */
export function guideAddress(file: string): string {
  if (file === CONTENTS_FILE) return 'guide';
  if (file.startsWith('examples/')) return file;
  return file.slice('docs/'.length).replace(/(\/README)?\.md$/, '');
}

function filesBelow(root: string, folder: string, extensions: readonly string[]): string[] {
  const directory = join(root, folder);
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(folder, path.replaceAll('\\', '/')))
    .filter((file) => extensions.includes(extname(file)))
    .sort();
}

function readPage(root: string, file: string): GuidePage {
  const source = readFileSync(join(root, file), 'utf8');
  if (file.endsWith('.svg')) return { kind: 'image', file, source };
  if (!file.endsWith('.md')) return { kind: 'source', file, title: file, source };
  const blocks = parseMarkdown(source);
  const title = blocks.find((block) => block.kind === 'heading')?.text ?? file;
  return { kind: 'text', file, title, blocks };
}

const LINK = /^\[([^\]]+)\]\(([^)]+)\)/;

/** The lists below its headings: each item begins with a link. */
function contentsOf(blocks: readonly Block[]): ContentsGroup[] {
  return blocks.flatMap((block, index) => {
    const heading = blocks.slice(0, index).findLast(({ kind }) => kind === 'heading');
    if (block.kind !== 'list' || heading?.kind !== 'heading') return [];
    const links = block.items.flatMap(([first]) => {
      const [, title = '', target = ''] = (first?.kind === 'paragraph' && LINK.exec(first.text)) || [];
      return target === '' ? [] : [{ title, target }];
    });
    return [{ title: heading.text, links }];
  });
}
