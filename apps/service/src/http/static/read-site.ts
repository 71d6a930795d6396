import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

/** A built page and all that belongs to it, in memory. */
export interface Site {
  /** By path under the site's root, `assets/index-3fa9.js`. */
  readonly files: ReadonlyMap<string, SiteFile>;
}

export interface SiteFile {
  readonly contentType: string;
  /** The file as it is, and as it was compressed when it was built. */
  readonly encodings: Readonly<Partial<Record<ContentEncoding, EncodedFile>>> & { readonly identity: EncodedFile };
}

interface EncodedFile {
  readonly bytes: Buffer;
  /** Strong: of these very bytes. */
  readonly etag: string;
}

export type ContentEncoding = 'br' | 'gzip' | 'identity';

/** The file that says that a site has been built, and that every address of it answers. */
export const SITE_INDEX = 'index.html';

/**
 * Reads a site once. `name.br` and `name.gz` are compressed forms of `name`.
 * @returns null where nothing has been built.
 * @throws Error naming a file whose kind is not known.
 */
export async function readSite(directory: string): Promise<Site | null> {
  const paths = await pathsIn(directory);
  if (!paths.includes(SITE_INDEX)) return null;
  const contents = new Map(
    await Promise.all(paths.map(async (path) => [path, encodedFile(await readFile(join(directory, path)))] as const)),
  );
  const files = new Map<string, SiteFile>();
  for (const [path, identity] of contents) {
    if (isCompressedForm(path)) continue;
    const [br, gzip] = [contents.get(`${path}.br`), contents.get(`${path}.gz`)];
    files.set(path, {
      contentType: contentTypeOf(path),
      encodings: { identity, ...(br && { br }), ...(gzip && { gzip }) },
    });
  }
  return { files };
}

/** What Vite writes for itself; nobody asks for it. */
const HIDDEN = /(^|\/)\./;

async function pathsIn(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(directory, join(parentPath, name)).replaceAll(sep, '/'))
      .filter((path) => !HIDDEN.test(path));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function encodedFile(bytes: Buffer): EncodedFile {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

function isCompressedForm(path: string): boolean {
  return path.endsWith('.br') || path.endsWith('.gz');
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

function contentTypeOf(path: string): string {
  const contentType = CONTENT_TYPES[extname(path)];
  if (contentType !== undefined) return contentType;
  throw new Error(`${path} is of no known kind; a site holds ${Object.keys(CONTENT_TYPES).join(', ')}.`);
}
