/** Parts of a service, each with a name for the log. */
export interface Parts {
  /** Adds a part that has started. Parts stop one after another, the last one first, also after one that fails. */
  add(name: string, stop: () => unknown): void;
  stop(): Promise<void>;
  /** Names the parts that have not stopped, in the order in which they stop; a part that another one has the name of, too. */
  running(): readonly string[];
}

export function createParts(): Parts {
  const stack = new AsyncDisposableStack();
  const parts = new Set<{ readonly name: string }>();
  return {
    add: (name, stop) => {
      const part = { name };
      parts.add(part);
      stack.defer(async () => {
        await stop();
        parts.delete(part);
      });
    },
    stop: () => stack.disposeAsync(),
    running: () => Array.from(parts, ({ name }) => name).reverse(),
  };
}
