/** A misbehaviour to show: how, for which method ('*' for any), and how many times (for ever when not given). */
export type Fault =
  /** Answers as if accepted and loses the transaction or bundle. */
  | { readonly kind: 'drop'; readonly method: 'sendTransaction' | 'sendBundle'; readonly times?: number | undefined }
  | { readonly kind: 'error'; readonly method: string; readonly status: 429 | 500; readonly times?: number | undefined }
  | { readonly kind: 'delay'; readonly method: string; readonly delayMs: number; readonly times?: number | undefined };

export interface Faults {
  set(fault: Fault): void;
  clear(): void;
  /** The fault that befalls a request for these methods, if any. Counts it. */
  take(methods: readonly string[]): Extract<Fault, { kind: 'error' | 'delay' }> | null;
  /** Whether the next submission by this method is to be lost. Counts it. */
  takeDrop(method: 'sendTransaction' | 'sendBundle'): boolean;
}

export function createFaults(): Faults {
  let armed: { readonly fault: Fault; left: number }[] = [];

  const use = <T extends Fault>(wanted: (fault: Fault) => fault is T): T | null => {
    for (const entry of armed) {
      const { fault } = entry;
      if (!wanted(fault)) continue;
      entry.left -= 1;
      armed = armed.filter(({ left }) => left > 0);
      return fault;
    }
    return null;
  };

  return {
    set: (fault) => {
      armed.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY });
    },
    clear: () => {
      armed = [];
    },
    take: (methods) =>
      use(
        (fault): fault is Extract<Fault, { kind: 'error' | 'delay' }> =>
          fault.kind !== 'drop' && (fault.method === '*' || methods.includes(fault.method)),
      ),
    takeDrop: (method) =>
      use((fault): fault is Extract<Fault, { kind: 'drop' }> => fault.kind === 'drop' && fault.method === method) !==
      null,
  };
}
