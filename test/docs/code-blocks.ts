import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseMarkdown } from '@flywheel/service/internal/http/docs/guide.ts';

/** Root folder of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Code between fences, with the comment before it that says how it is tested (CONTRIBUTING.md). */
export interface CodeBlock {
  /** Path from the root, e.g. `docs/tutorial.md`. */
  readonly page: string;
  /** Number of the first line of code, counted from one. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly note: Note;
}

export type Note =
  | { readonly kind: 'none' }
  /** Cannot be run here, for this reason. */
  | { readonly kind: 'not run'; readonly reason: string }
  /** Runs where this client is, which the project does not install: see clients.ts. */
  | { readonly kind: 'needs'; readonly client: string }
  /** Saved by the reader under this name, for later code on the page. */
  | { readonly kind: 'file'; readonly name: string }
  /** Ends with this exit code. */
  | { readonly kind: 'exits'; readonly code: number }
  /** JSON of this shape: `initBatch body`, `executeBatch 200`, or an export of the API's schemas. */
  | { readonly kind: 'is'; readonly shape: string };

/** Reads the pages whose code is tested: every page that tells a reader what to type. */
export async function readPages(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  for await (const page of glob(['README.md', 'CONTRIBUTING.md', 'docs/*.md', 'docs/how-to/*.md'], { cwd: ROOT })) {
    pages.set(page, await readFile(join(ROOT, page), 'utf8'));
  }
  return new Map([...pages].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Collects the code blocks of a page. @throws Error with page and line of an unknown note. */
export function codeBlocksOf(page: string, markdown: string): CodeBlock[] {
  const tokens = parseMarkdown(markdown);
  return tokens.flatMap((token, index) => {
    if (token.type !== 'fence') return [];
    const line = (token.map?.[0] ?? 0) + 2;
    const before = tokens[index - 1];
    const comment = before?.type === 'html_block' ? /^<!--\s*([\s\S]*?)\s*-->$/.exec(before.content.trim()) : null;
    const note = parseNote(comment?.[1] ?? null, `${page}:${line}`);
    return [{ page, line, language: token.info, text: token.content.trimEnd(), note }];
  });
}

function parseNote(note: string | null, place: string): Note {
  if (note === null) return { kind: 'none' };
  const [, kind = '', value = ''] = /^(\w[\w ]*?): (.+)$/s.exec(note) ?? [];
  if (kind === 'not run') return { kind, reason: value.replaceAll(/\s+/g, ' ') };
  if (kind === 'needs') return { kind, client: value };
  if (kind === 'file') return { kind, name: value };
  if (kind === 'exits') return { kind, code: Number(value) };
  if (kind === 'is') return { kind, shape: value };
  throw new Error(`${place}: “${note}” is none of not run:, needs:, file:, exits:, is:.`);
}
