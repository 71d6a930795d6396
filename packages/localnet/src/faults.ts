/** How often a fault strikes: the first `times` requests it fits (for ever when not given), each with a probability. */
export interface Odds {
  readonly times?: number | undefined;
  /** From 0 to 1; 1 by default. */
  readonly probability?: number | undefined;
  /** The same seed makes the same choices; 0 by default. */
  readonly seed?: number | undefined;
}

/** Befalls a whole request over HTTP, of the method that is named or of any ('*'). */
export type RequestFault = Odds & { readonly method: string } & (
    | { readonly kind: 'error'; readonly status: 429 | 500 }
    | { readonly kind: 'delay'; readonly delayMs: number }
    /** The request is never answered, nor carried out. */
    | { readonly kind: 'hang' }
  );

/** Befalls one call. */
export type CallFault =
  /** Answers as if accepted and loses the transaction or bundle. */
  | (Odds & { readonly kind: 'drop'; readonly method: 'sendTransaction' | 'sendBundle' })
  /** The bundle comes apart: its first transactions land one by one, the others never. */
  | (Odds & { readonly kind: 'partLand'; readonly method: 'sendBundle'; readonly landed: number })
  /** The call is carried out twice and answered once. */
  | (Odds & { readonly kind: 'duplicate'; readonly method: string })
  /** A status is answered that is not true. */
  | (Odds & { readonly kind: 'wrongStatus'; readonly method: StatusMethod; readonly lie: Lie });

/** A misbehaviour to show. */
export type Fault = RequestFault | CallFault;
export type StatusMethod = 'getSignatureStatuses' | 'getBundleStatuses' | 'getInflightBundleStatuses';
export type Lie = 'unknown' | 'failed' | 'landed';
type Kind = Fault['kind'];
type OfKind<K extends Kind> = Extract<Fault, { readonly kind: K }>;

const REQUEST_KINDS = ['error', 'delay', 'hang'] as const;

export interface Faults {
  set(fault: Fault): void;
  clear(): void;
  /** The fault that befalls a request for these methods, if any. Counts it. */
  takeRequest(methods: readonly string[]): RequestFault | null;
  /** The fault of a kind that befalls a call, if any. Counts it. */
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

/** Mulberry32: small, and good enough to choose who is struck. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
