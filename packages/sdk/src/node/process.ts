/** The part of Node's `process` that is used. This package is compiled without the types of Node. */
interface NodeProcess {
  readonly env: { readonly [name: string]: string | undefined };
  getBuiltinModule(name: 'node:fs/promises'): { readFile(path: string, encoding: 'utf8'): Promise<string> };
  getBuiltinModule(name: 'node:http'): {
    createServer(listener: (incoming: never, outgoing: never) => unknown): NodeServer;
  };
}

/** The part of `Server` of node:http that is used. */
interface NodeServer {
  listen(port: number, host: string, onListening: () => void): void;
  once(event: 'error', onError: (error: Error) => void): void;
  address(): { readonly port: number } | string | null;
  close(onClosed: () => void): void;
  closeAllConnections(): void;
}

/** Returns Node's `process` when it is needed, so that importing these modules never fails. @throws Error in other runtimes. */
export function nodeProcess(): NodeProcess {
  const { process } = globalThis as { readonly process?: NodeProcess };
  if (process !== undefined) return process;
  throw new Error('@flywheel/sdk/node needs the process of Node, Deno or Bun.');
}
