/** The part of Node's `process` that is used. This package is compiled without the types of Node. */
interface NodeProcess {
  readonly env: { readonly [name: string]: string | undefined };
  getBuiltinModule(name: 'node:fs/promises'): { readFile(path: string, encoding: 'utf8'): Promise<string> };
}

/** Finds it when it is used, so that importing these modules fails nowhere. */
export function nodeProcess(): NodeProcess {
  const { process } = globalThis as { readonly process?: NodeProcess };
  if (process !== undefined) return process;
  throw new Error('@flywheel/sdk/node needs the process of Node, Deno or Bun.');
}
