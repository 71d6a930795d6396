import { errorsPage } from './errors-page.ts';
import { openapi } from './openapi.ts';

/** Renders the documents that are made from the catalogue: each text by its path from the repository's root. */
export function documents(): { readonly [path: string]: string } {
  return {
    'docs/openapi.json': `${JSON.stringify(openapi(), null, 2)}\n`,
    'docs/errors.md': errorsPage(),
  };
}
