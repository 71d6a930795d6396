import { join } from 'node:path';
import * as sdk from '@flywheel/sdk';
import * as kit from '@solana/kit';
import { ROOT } from './code-blocks.ts';

/** Where a name is taken from when a page uses it without saying so; the first that has it. */
const SOURCES: readonly { readonly from: string; readonly names: readonly string[] }[] = [
  {
    from: join(ROOT, 'test/docs/fragment-world.ts'),
    names: [
      ...['url', 'rpcUrl', 'apiKey', 'vaultAddress', 'mintAddress', 'wallet', 'customer', 'client', 'orderId'],
      ...['pipelines', 'onProgress', 'tellTreasury'],
    ],
  },
  { from: '@flywheel/sdk', names: Object.keys(sdk) },
  { from: '@solana/kit', names: Object.keys(kit) },
];

/**
 * A part of a program made whole: names that it neither declares nor imports are imported from where its page means
 * them to come from. A whole program stays as it is.
 */
export function completeFragment(text: string): string {
  const missing = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const { from, names } of SOURCES) {
    for (const name of names) {
      if (seen.has(name) || !isUsed(text, name) || isDeclared(text, name)) continue;
      seen.add(name);
      missing.set(from, [...(missing.get(from) ?? []), name]);
    }
  }
  const imports = [...missing].map(([from, names]) => `import { ${names.join(', ')} } from '${from}';`);
  return [...imports, text, 'export {};', ''].join('\n');
}

/** Not as a property, a key, or part of a text. */
function isUsed(text: string, name: string): boolean {
  const code = text.replaceAll(/'[^'\n]*'|\/\/.*$/gm, '');
  return new RegExp(`(?<![.\\w$])${name}(?![\\w$]|: )`).test(code);
}

function isDeclared(text: string, name: string): boolean {
  return new RegExp(
    `\\b(?:import|const|let|function|class|for \\((?:await )?const)\\b(?:(?!\\bof\\b)[^=;(])*\\b${name}\\b`,
  ).test(text);
}
