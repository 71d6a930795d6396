import type { ProofQuestion } from './proof-query.ts';

/** The query of the page’s address. */
interface ProofSearch {
  readonly type?: string;
  readonly payload?: string;
  readonly signature?: string;
}

/** Reads the question from the page’s address; null without one. @param hash the part behind `#`, without it. */
export function questionOf({ type, payload, signature }: ProofSearch, hash: string): ProofQuestion | null {
  if (signature !== undefined && signature !== '') return { signature };
  if (type === undefined || type === '') return null;
  const mergedPayload = new URLSearchParams(hash).get(MERGED);
  return { type, payload: payload ?? '', ...(mergedPayload && { mergedPayload }) };
}

/**
 * Writes a question as the query and hash of the page’s address. The merged payload is in the hash: it has up to 61 KB, and a
 * server refuses a query of more than 16 KB. A browser does not send the hash.
 */
export function addressOf(question: ProofQuestion): { readonly search: ProofSearch; readonly hash: string } {
  if ('signature' in question) return { search: question, hash: '' };
  const { mergedPayload, ...search } = question;
  return { search, hash: mergedPayload === undefined ? '' : `${new URLSearchParams({ [MERGED]: mergedPayload })}` };
}

/** Writes the link that people share. */
export function linkTo(question: ProofQuestion): string {
  const { search, hash } = addressOf(question);
  return `${location.origin}/proof?${new URLSearchParams({ ...search })}${hash && `#${hash}`}`;
}

const MERGED = 'merged';
