import { seededRandom } from './random.ts';

/** Frequency of a fault: it applies to the first `times` matching requests (default: all), each with a probability. */
export interface Odds {
  readonly times?: number | undefined;
  /** From 0 to 1; default 1. */
  readonly probability?: number | undefined;
  /** Seed of the random choice; equal seeds choose the same requests. Default 0. */
  readonly seed?: number | undefined;
}

/** Limits a fault to one endpoint: a request to `/nodes/<node>` reaches the node of that name. Default: all endpoints. */
interface Endpoint {
  readonly node?: string | undefined;
}

/** A fault of a whole HTTP request, for one method or all ('*'). */
export type RequestFault = Odds &
  Endpoint & { readonly method: string } & (
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

/** Chooses the node that answers a request; several nodes behind one URL are rarely equal. */
export type NodeFault = Odds & Endpoint & { readonly method: string } & (Behind | ForgetHistory);

/** Requests go in turn to nodes that are so many slots behind the cluster. */
interface Behind {
  readonly kind: 'behind';
  readonly slots: readonly number[];
}

/** The node knows only the transactions and blocks of the last slots; with 0 it keeps no history at all. */
interface ForgetHistory {
  readonly kind: 'forgetHistory';
  readonly slots: number;
}

/** A fault to inject. */
export type Fault = RequestFault | CallFault | NodeFault;
export type StatusMethod = 'getSignatureStatuses' | 'getBundleStatuses' | 'getInflightBundleStatuses';
export type Lie = 'unknown' | 'failed' | 'landed';
type Kind = Fault['kind'];
type OfKind<K extends Kind> = Extract<Fault, { readonly kind: K }>;

export interface Faults {
  set(fault: Fault): void;
  clear(): void;
  /** Returns and counts the fault that applies to a request with these methods at an endpoint; null if none does. */
  takeRequest(methods: readonly string[], node: string): RequestFault | null;
  /** Returns the state of the node that answers a request with these methods, and counts the faults that choose it. */
  takeNode(
    methods: readonly string[],
    node: string,
  ): { readonly behindSlots: bigint; readonly historySlots: bigint | null };
  /** Returns and counts the fault of a kind that applies to a call; null if none does. */
  takeCall<K extends CallFault['kind']>(kind: K, method: string): OfKind<K> | null;
}

export function createFaults(): Faults {
  let armed: { readonly fault: Fault; left: number; used: number; readonly random: () => number }[] = [];

  const use = <T extends Fault>(wanted: (fault: Fault) => fault is T): T | null => useCounted(wanted)?.fault ?? null;
  const useCounted = <T extends Fault>(wanted: (fault: Fault) => fault is T) => {
    for (const entry of armed) {
      const { fault, random } = entry;
      if (!wanted(fault) || random() >= (fault.probability ?? 1)) continue;
      entry.left -= 1;
      entry.used += 1;
      armed = armed.filter(({ left }) => left > 0);
      return { fault, used: entry.used };
    }
    return null;
  };
  const fits = (fault: Fault, methods: readonly string[]) => fault.method === '*' || methods.includes(fault.method);
  const isAt = (fault: RequestFault | NodeFault, node: string) => fault.node === undefined || fault.node === node;

  return {
    set: (fault) => {
      armed.push({
        fault,
        left: fault.times ?? Number.POSITIVE_INFINITY,
        used: 0,
        random: seededRandom(fault.seed ?? 0),
      });
    },
    clear: () => {
      armed = [];
    },
    takeRequest: (methods, node) =>
      use((fault): fault is RequestFault => isRequestFault(fault) && isAt(fault, node) && fits(fault, methods)),
    takeNode: (methods, node) => {
      const of =
        <K extends NodeFault['kind']>(kind: K) =>
        (fault: Fault): fault is OfKind<K> & NodeFault =>
          isNodeFault(fault) && fault.kind === kind && isAt(fault, node) && fits(fault, methods);
      const behind = useCounted(of('behind'));
      const forgetful = use(of('forgetHistory'));
      const turn = behind?.fault.slots[(behind.used - 1) % behind.fault.slots.length];
      return { behindSlots: BigInt(turn ?? 0), historySlots: forgetful && BigInt(forgetful.slots) };
    },
    takeCall: <K extends CallFault['kind']>(kind: K, method: string) =>
      use((fault): fault is OfKind<K> => fault.kind === kind && fits(fault, [method])),
  };
}

function isRequestFault(fault: Fault): fault is RequestFault {
  return fault.kind === 'error' || fault.kind === 'delay' || fault.kind === 'hang';
}

function isNodeFault(fault: Fault): fault is NodeFault {
  return fault.kind === 'behind' || fault.kind === 'forgetHistory';
}
