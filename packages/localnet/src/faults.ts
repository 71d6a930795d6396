/** Frequency of a fault: it applies to the first `times` matching requests (default: all), each with a probability. */
export interface Odds {
  readonly times?: number | undefined;
  /** From 0 to 1; default 1. */
  readonly probability?: number | undefined;
  /** Seed of the random choice; equal seeds choose the same requests. Default 0. */
  readonly seed?: number | undefined;
}

/** A fault of a whole HTTP request, for one method or all ('*'). */
export type RequestFault = Odds & { readonly method: string } & (
    | { readonly kind: 'error'; readonly status: 429 | 500 }
    | { readonly kind: 'delay'; readonly delayMs: number }
    /** The request gets no response and is not executed. */
    | { readonly kind: 'hang' }
  );

/** A fault of one call. */
export type CallFault =
  /** The transaction or bundle is accepted and lost. */
  | (Odds & { readonly kind: 'drop'; readonly method: 'sendTransaction' | 'sendBundle' })
  /** The bundle is split: its first transactions land one by one, the others do not land. */
  | (Odds & { readonly kind: 'partLand'; readonly method: 'sendBundle'; readonly landed: number })
  /** The call is executed twice, with one response. */
  | (Odds & { readonly kind: 'duplicate'; readonly method: string })
  /** The response contains a false status. */
  | (Odds & { readonly kind: 'wrongStatus'; readonly method: StatusMethod; readonly lie: Lie });

/** A fault to inject. */
export type Fault = RequestFault | CallFault;
export type StatusMethod = 'getSignatureStatuses' | 'getBundleStatuses' | 'getInflightBundleStatuses';
export type Lie = 'unknown' | 'failed' | 'landed';
type Kind = Fault['kind'];
type OfKind<K extends Kind> = Extract<Fault, { readonly kind: K }>;

const REQUEST_KINDS = ['error', 'delay', 'hang'] as const;

export interface Faults {
  set(fault: Fault): void;
  clear(): void;
  /** Returns and counts the fault that applies to a request with these methods; null if none does. */
  takeRequest(methods: readonly string[]): RequestFault | null;
  /** Returns and counts the fault of a kind that applies to a call; null if none does. */
  takeCall<K extends CallFault['kind']>(kind: K, method: string): OfKind<K> | null;
}

export function createFaults(): Faults {
  let armed: { readonly fault: Fault; left: number; readonly random: () => number }[] = [];

  const use = <T extends Fault>(wanted: (fault: Fault) => fault is T): T | null => {
    for (const entry of armed) {
      const { fault, random } = entry;
      if (!wanted(fault) || random() >= (fault.probability ?? 1)) continue;
      entry.left -= 1;
      armed = armed.filter(({ left }) => left > 0);
      return fault;
    }
    return null;
  };
  const fits = (fault: Fault, methods: readonly string[]) => fault.method === '*' || methods.includes(fault.method);

  return {
    set: (fault) => {
      armed.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY, random: seededRandom(fault.seed ?? 0) });
    },
    clear: () => {
      armed = [];
    },
    takeRequest: (methods) =>
      use((fault): fault is RequestFault => REQUEST_KINDS.some((kind) => kind === fault.kind) && fits(fault, methods)),
    takeCall: <K extends CallFault['kind']>(kind: K, method: string) =>
      use((fault): fault is OfKind<K> => fault.kind === kind && fits(fault, [method])),
  };
}

/** Mulberry32, a small generator; good enough to choose requests. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
