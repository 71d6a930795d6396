import { join } from 'node:path';
import * as sdk from '@flywheel/sdk';
import * as kit from '@solana/kit';
import { ROOT } from './code-blocks.ts';

/** Modules from which undeclared names of a page are imported; the first that has the name is used. */
const SOURCES: readonly { readonly from: string; readonly names: readonly string[] }[] = [
  {
    from: join(ROOT, 'test/docs/fragment-world.ts'),
    names: [
      ...[
        'url',
        'rpcUrl',
        'apiKey',
        'vaultAddress',
        'mintAddress',
        'walletFile',
        'wallet',
        'customer',
        'client',
        'orderId',
      ],
      ...['pipelines', 'onProgress', 'tellTreasury'],
    ],
  },
  { from: '@flywheel/sdk', names: Object.keys(sdk) },
  { from: '@solana/kit', names: Object.keys(kit) },
];

/**
 * Completes a part of a program: names that it neither declares nor imports are imported from where its page takes
 * them. A complete program stays unchanged.
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

/** Searches for a use of the name, except as a property, a key, or part of a text. */
function isUsed(text: string, name: string): boolean {
  const code = text.replaceAll(/'[^'\n]*'|\/\/.*$/gm, '');
  return new RegExp(`(?<![.\\w$])${name}(?![\\w$]|: )`).test(code);
}

function isDeclared(text: string, name: string): boolean {
  return new RegExp(
    `\\b(?:import|const|let|function|class|for \\((?:await )?const)\\b(?:(?!\\bof\\b)[^=;(])*\\b${name}\\b`,
  ).test(text);
}
