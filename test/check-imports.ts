import { dirname, join } from 'node:path/posix';

/** Places are paths from the root: a folder or one file. */
export interface Rules {
  readonly mayImport: Readonly<Record<string, readonly string[]>>;
  /** By package. */
  readonly onlyIn: Readonly<Record<string, readonly string[]>>;
  /** By place; `@scope/*` is every package of a scope. */
  readonly onlyPackages: Readonly<Record<string, readonly string[]>>;
  readonly words: readonly WordRule[];
}

type WordRule = { readonly pattern: RegExp; readonly what: string } & (
  | { readonly onlyIn: readonly string[]; readonly notIn?: never }
  | { readonly notIn: readonly string[]; readonly onlyIn?: never }
);

/**
 * The faults of some sources against the rules, one sentence each: file, line, rule.
 * @param files source text by path from the root
 * @param entries path of the entry by name, of the packages that are ours
 */
export function checkImports(
  files: ReadonlyMap<string, string>,
  rules: Rules,
  entries: Readonly<Record<string, string>>,
): string[] {
  return [...files].flatMap(([path, source]) => {
    const place = placeOf(path, Object.keys(rules.mayImport));
    if (place === null) return [`${path}: no rule says what this file may import.`];
    const code = blankComments(source);
    const importFaults = findImports(code).map(({ line, name }) => {
      const fault = importFault(path, place, name, rules, entries);
      return fault && `${path}:${line} ${fault}`;
    });
    const wordFaults = rules.words.map((rule) => {
      const at = code.search(rule.pattern);
      return at >= 0 && breaksWordRule(path, place, rule) && `${path}:${lineOf(code, at)} ${sentence(rule)}`;
    });
    return [...importFaults, ...wordFaults].filter((fault) => typeof fault === 'string');
  });
}

function placeOf(path: string, places: readonly string[]): string | null {
  const covering = places.filter((place) => isIn(path, place)).sort((a, b) => b.length - a.length);
  const [longest = null] = covering;
  // The row of a folder whose own folders have rows is for the files beside them: a new folder needs a row.
  const isDivided = places.some((place) => longest !== null && dirname(place) === longest && !place.endsWith('.ts'));
  return isDivided && dirname(path) !== longest ? null : longest;
}

function isIn(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

/** Comments as spaces, so that positions stay. Enough for sources that Biome has formatted. */
function blankComments(source: string): string {
  return source.replace(/^\s*(\/\*\*?[\s\S]*?\*\/|\/\/.*)|\s\/\/ .*/gm, (comment) => comment.replace(/[^\n]/g, ' '));
}

/** `name` is null where it is no literal. */
function findImports(code: string): { readonly line: number; readonly name: string | null }[] {
  const statements = code.matchAll(/^(?:import|export)\b(?:[^;'"]*?\bfrom)?\s*['"]([^'"]+)['"]/gm);
  const calls = code.matchAll(/\bimport\(\s*(?:['"]([^'"]+)['"])?/g);
  return [...statements, ...calls].map(({ index, 1: name = null }) => ({ line: lineOf(code, index), name }));
}

function lineOf(code: string, position: number): number {
  return code.slice(0, position).split('\n').length;
}

function importFault(
  path: string,
  place: string,
  name: string | null,
  rules: Rules,
  entries: Readonly<Record<string, string>>,
): string | null {
  if (name === null) return 'imports by a name that is no literal.';
  const target = name.startsWith('.') ? join(dirname(path), name) : entries[name];
  if (target !== undefined) return fileFault(place, target, rules);
  const owners = Object.entries(rules.onlyIn).find(([owned]) => isIn(name, owned))?.[1];
  if (owners && !owners.some((owner) => isIn(path, owner))) {
    return `imports ${name}, which only ${owners.join(', ')} may.`;
  }
  const packages = rules.onlyPackages[place];
  if (packages && !packages.some((allowed) => isIn(name, allowed.replace('/*', '')))) {
    return `imports ${name}; of packages ${place} may import ${packages.join(', ')}.`;
  }
  return null;
}

function fileFault(place: string, target: string, rules: Rules): string | null {
  const allowed = rules.mayImport[place] ?? [];
  const targetPlace = placeOf(target, [...Object.keys(rules.mayImport), ...allowed]);
  if (targetPlace === place || allowed.some((other) => other === targetPlace || isIn(target, other))) return null;
  return `imports ${target}; ${place} may import ${allowed.join(', ') || 'nothing but itself'}.`;
}

function breaksWordRule(path: string, place: string, { onlyIn, notIn }: WordRule): boolean {
  return onlyIn ? !onlyIn.some((allowed) => isIn(path, allowed)) : notIn.includes(place);
}

function sentence({ what, onlyIn, notIn }: WordRule): string {
  return onlyIn
    ? `names ${what}, which only ${onlyIn.join(', ')} may.`
    : `names ${what}, which ${notIn.join(', ')} may not.`;
}
