import { posix } from 'node:path';
import { type Guide, guideAddress } from './guide.ts';
import type { ResolveLink } from './inline-markdown.ts';

/** What of the repository is served elsewhere than below /docs/: the operations, for people, who find the file there. */
const ELSEWHERE: Readonly<Record<string, string>> = { 'docs/openapi.json': '/docs' };

/**
 * How the links of a file lead on once it is served. Markdown links by file, as a forge shows it; pages link by address.
 * What is in the repository and not served (sources, the deployment) leads nowhere.
 */
export function guideLink({ pages }: Guide, file: string): ResolveLink {
  return (target) => {
    if (target.startsWith('#') || target.startsWith('/')) return target;
    if (/^[a-z]+:/i.test(target)) return /^https?:/i.test(target) ? target : null;
    const [path = '', anchor] = target.split('#', 2);
    const linked = posix.join(posix.dirname(file), path);
    const fragment = anchor === undefined ? '' : `#${anchor}`;
    const elsewhere = ELSEWHERE[linked];
    if (elsewhere !== undefined) return elsewhere;
    const address = /^(docs|examples)\//.test(linked) ? guideAddress(linked) : null;
    if (address !== null && pages.has(address)) return `/docs/${address}${fragment}`;
    return null;
  };
}
