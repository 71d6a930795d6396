import { BUNDLES_PATH, messageOf } from '@flywheel/protocol';
import { type Bank, BankError, bankSigner, createFaucet, createLedgerBank } from './bank.ts';
import { createBlockEngine } from './bundle.ts';
import { countEngineRequests } from './engine-requests.ts';
import { createFaults, type Fault, type Faults } from './faults.ts';
import { type FetchOptions, fetchSquadsProgram, MAINNET_RPC_URL } from './fetch-program.ts';
import { createGenesis, type GenesisAccount, genesisAccounts, TIP_ACCOUNTS } from './genesis.ts';
import { GenesisFileError, type GenesisFiles, loadGenesisFiles } from './genesis-accounts.ts';
import { createInbox } from './inbox.ts';
import { type Ledger, openLedger } from './ledger/ledger.ts';
import type { NodeOptions } from './ledger/node.ts';
import { forgetLedger, LedgerError } from './ledger/store/database.ts';
import { listenWithWebsockets } from './listen.ts';
import { accountMethods } from './methods/accounts.ts';
import { blockMethods } from './methods/blocks.ts';
import { bundleMethods, tipFloor } from './methods/bundles.ts';
import { clusterMethods } from './methods/cluster.ts';
import { abandonNewest, controlMethods, type Pace } from './methods/control.ts';
import { historyMethods } from './methods/history.ts';
import { injectFaults } from './methods/inject-faults.ts';
import { networkMethods } from './methods/network.ts';
import { submissionMethods } from './methods/submission.ts';
import { tokenMethods } from './methods/tokens.ts';
import { defaultCacheDirectory, findSquadsProgram, SquadsProgramError } from './programs.ts';
import { seededRandom } from './random.ts';
import type { Methods } from './rpc/answer-call.ts';
import { createRpcServer } from './rpc/server.ts';
import { createRpcBank, requestAirdrop } from './rpc-bank.ts';
import type { Runtime } from './runtime.ts';
import { createSquadsRuntime } from './squads-runtime.ts';
import { createFeed } from './subscriptions/feed.ts';
import { subscriptionKinds } from './subscriptions/subscribe.ts';
import { createWebsocketGate } from './subscriptions/websocket.ts';
import { createSignatureVerifier } from './wire/signatures.ts';

/** Slots between `confirmed` and `finalized`, as on mainnet. */
const FINALIZED_LAG_SLOTS = 31;
/** Part of a slot between the answer to sendTransaction and the execution. */
const LANDING_SLOTS = 1 / 8;
const SLOT_MS = 400;
/** About the time for which Jito's engine keeps a bundle (docs.jito.wtf, bundles). */
const AUCTION_MS = 200;
/** Time limit for fetching the real program at start. */
const START_FETCH_MS = 1_500;

export interface LocalnetOptions {
  /** Port of the JSON-RPC; 0 (the default) picks a free one. */
  readonly port?: number;
  /** Address to listen on, default 127.0.0.1. Anyone who can reach the port controls the cluster. */
  readonly host?: string;
  /** Directory of the stored state; null (the default) keeps the state in memory. */
  readonly stateDirectory?: string | null;
  /** Deletes the stored state before the start; default false. */
  readonly reset?: boolean;
  /** Path of the deployed Squads program, or 'emulation'. Default: the program in the user's cache, otherwise the emulation. */
  readonly squadsProgram?: string | undefined;
  /**
   * Tries once, for 1.5 s, to fetch the real program if it is neither given nor cached: `true` uses mainnet's public RPC and
   * the user's cache. Default false, so that tests stay offline.
   */
  readonly fetchMissingProgram?: boolean | FetchOptions;
  /** Slot time in milliseconds, default 400. 0: only `warp` advances slots. */
  readonly slotMs?: number;
  /** Slots by which `finalized` lags behind `confirmed`; default 31, as on mainnet. */
  readonly finalizedLagSlots?: number;
  /** Time between the answer to sendTransaction and the execution; `warp` ends it. Default an eighth of `slotMs`. */
  readonly landingDelayMs?: number;
  /**
   * Milliseconds after which the block engine has landed a bundle or forgets it, default 200. While slots are paused, or
   * only `warp` advances them, bundles wait for the next slot.
   */
  readonly auctionMs?: number;
  /** Requests that the block engine accepts in a second; it answers 429 to more. No limit by default. */
  readonly engineRequestsPerSecond?: number;
  /** false rejects transaction version 1, like a cluster without the feature; default true. */
  readonly v1?: boolean;
  /** Accounts and programs from files, with which the cluster starts; none by default. */
  readonly genesis?: GenesisFiles;
  readonly faults?: readonly Fault[];
  /** Called with unexpected exceptions of the cluster; default: they become process warnings. */
  readonly onError?: (error: unknown) => void;
}

/** A running cluster. */
export interface Localnet {
  /** JSON-RPC of the cluster. `<url>/nodes/<name>` is another node of it, to which faults can be limited. */
  readonly url: string;
  /** URL for subscriptions: the port above the JSON-RPC, or the same port if that one is taken. The same port always works. */
  readonly websocketUrl: string;
  /** JSON-RPC of the block engine. */
  readonly blockEngineUrl: string;
  readonly port: number;
  readonly program: Runtime['program'];
  /** Sentence with the running Squads program and the reason. */
  readonly programNote: string;
  readonly bank: Bank;
  readonly faults: Faults;
  /** Advances slots (default one) or seconds at once. */
  warp(step?: { readonly slots?: bigint; readonly seconds?: bigint }): Promise<void>;
  /**
   * Abandons the newest complete blocks (default one) and the current one, as when a cluster chooses another fork:
   * their transactions are undone.
   * @throws RangeError if one of them is finalized.
   */
  fork(step?: { readonly slots?: bigint }): void;
  /** Disconnects all WebSocket clients; they may connect again. */
  dropWebSockets(): void;
  stop(): Promise<void>;
}

export type { Bank, Fault, Faults, GenesisAccount, GenesisFiles };
export {
  BankError,
  bankSigner as localnetBank,
  createRpcBank,
  createSquadsRuntime,
  defaultCacheDirectory,
  type FetchOptions,
  fetchSquadsProgram,
  findSquadsProgram,
  GenesisFileError,
  genesisAccounts,
  LedgerError,
  MAINNET_RPC_URL,
  requestAirdrop,
  SquadsProgramError,
  seededRandom,
  TIP_ACCOUNTS,
  tipFloor,
};

/**
 * Starts a Solana cluster in this process: LiteSVM behind Solana's JSON-RPC, and a block engine.
 * @throws LedgerError if the state cannot be opened, SquadsProgramError or GenesisFileError if a file cannot be used; Error with the
 * code of the system if the port cannot.
 *
 * @example
 * const localnet = await startLocalnet();
 * const rpc = createSolanaRpc(localnet.url);
 * await rpc.requestAirdrop(wallet, lamports(1_000_000_000n)).send();
 * await localnet.stop();
 */
export async function startLocalnet(options: LocalnetOptions = {}): Promise<Localnet> {
  const { host = '127.0.0.1', v1 = true, onError: report = warn } = options;
  let stopped = false;
  // Work that is interrupted by stopping fails because the store is closed; that is expected.
  const onError = (error: unknown) => {
    if (!stopped) report(error);
  };
  const squads = await squadsProgram(options);
  const signer = await bankSigner();
  const svm = createGenesis(signer.address, v1);
  const runtime = createSquadsRuntime(svm, squads);
  loadGenesisFiles(svm, options.genesis ?? {});
  if (options.reset && options.stateDirectory) forgetLedger(options.stateDirectory);
  const ledger = openLedger(svm, runtime, {
    stateDirectory: options.stateDirectory ?? null,
    finalizedLagSlots: BigInt(options.finalizedLagSlots ?? FINALIZED_LAG_SLOTS),
  });
  const bank = createLedgerBank(ledger, signer);
  const faults = createFaults();
  for (const fault of options.faults ?? []) faults.set(fault);
  const pace: Pace = { paused: false };
  const slotMs = options.slotMs ?? SLOT_MS;
  const inbox = createInbox(ledger, options.landingDelayMs ?? slotMs * LANDING_SLOTS, onError);
  const isTicking = () => slotMs > 0 && !pace.paused;
  const engine = createBlockEngine(ledger, { auctionMs: options.auctionMs ?? AUCTION_MS, isTicking, onError });
  const engineRequests = countEngineRequests(options.engineRequestsPerSecond ?? Number.POSITIVE_INFINITY);
  const verifier = createSignatureVerifier();
  const bundles = bundleMethods({ ledger, engine, faults, verifier, v1 });
  const gate = createWebsocketGate({ kinds: subscriptionKinds(ledger), feed: createFeed(ledger), onError });
  const shared = {
    ...controlMethods({ ledger, bank, faults, pace, inbox, engineRequests, websockets: gate }),
    ...bundles,
  };
  const faucet = createFaucet(ledger, signer);
  const methodsOf = rememberMethods((options) => {
    const node = ledger.nodeWith(options);
    const own = {
      ...clusterMethods(node, runtime.program, signer.address),
      ...networkMethods(node, signer.address),
      ...accountMethods(node, signer.address),
      ...tokenMethods(node),
      ...historyMethods(node),
      ...blockMethods(node),
      ...submissionMethods({ ledger, node, inbox, faucet, faults, verifier, v1 }),
    };
    return injectFaults({ ...own, ...shared }, faults);
  });
  const bundlesWithFaults = injectFaults(bundles, faults);
  const server = createRpcServer({
    rpc: (path) => {
      if (path === BUNDLES_PATH) {
        return { node: '', choose: () => bundlesWithFaults, admit: engineRequests.admit };
      }
      const node = path === '/' ? '' : /^\/nodes\/([\w-]+)$/.exec(path)?.[1];
      return node === undefined ? null : { node, choose: (called) => methodsOf(faults.takeNode(called, node)) };
    },
    rest: new Map<string, () => unknown>([
      ['/health', () => 'ok'],
      [`${BUNDLES_PATH}/tip_floor`, tipFloor],
    ]),
    faults,
    settled: ledger.stored,
    onError,
  });
  const listening = await listenWithWebsockets(server, gate, { port: options.port ?? 0, host }).catch(
    async (error: unknown) => {
      await verifier.close();
      ledger.close();
      throw error;
    },
  );
  const { port } = listening;
  const stopTicking = startTicking(ledger, pace, slotMs, onError);
  const url = `http://${host}:${port}`;
  return {
    url,
    websocketUrl: `ws://${host}:${listening.websocketPort ?? port}`,
    blockEngineUrl: `${url}${BUNDLES_PATH}`,
    port,
    program: runtime.program,
    programNote: squads.note,
    bank,
    faults,
    warp: (step) => {
      inbox.flush();
      return ledger.advance(step);
    },
    fork: ({ slots = 1n } = {}) => void abandonNewest(ledger, slots),
    dropWebSockets: () => void gate.drop(),
    stop: async () => {
      stopped = true;
      stopTicking();
      inbox.close();
      engine.close();
      await listening.close();
      await verifier.close();
      ledger.close();
    },
  };
}

/** Tries to fetch the program once; without a network the cluster starts with the emulation. */
async function squadsProgram({ squadsProgram: wanted, fetchMissingProgram = false }: LocalnetOptions) {
  const options = typeof fetchMissingProgram === 'object' ? fetchMissingProgram : {};
  const found = findSquadsProgram(wanted, options.cacheDirectory);
  if (wanted !== undefined || found.program === 'squads-v4' || fetchMissingProgram === false) return found;
  try {
    // A start without a network must not wait for further attempts.
    await fetchSquadsProgram({ timeoutMs: START_FETCH_MS, maxAttempts: 1, ...options });
  } catch (error) {
    return { ...found, note: `${found.note} ${messageOf(error)}` };
  }
  return findSquadsProgram(wanted, options.cacheDirectory);
}

/** Few nodes differ and requests are many, so methods are created once per node. */
function rememberMethods(create: (options: NodeOptions) => Methods): (options: NodeOptions) => Methods {
  const known = new Map<string, Methods>();
  return (options) => {
    const key = `${options.behindSlots}/${options.historySlots}`;
    const methods = known.get(key) ?? create(options);
    known.set(key, methods);
    return methods;
  };
}

/** Advances one slot per interval. Under load a slot takes longer; slots do not pile up. */
function startTicking(ledger: Ledger, pace: Pace, slotMs: number, onError: (error: unknown) => void): () => void {
  if (slotMs === 0) return () => undefined;
  let ticking = false;
  const timer = setInterval(() => {
    if (ticking || pace.paused) return;
    ticking = true;
    ledger
      .advance()
      .catch(onError)
      .finally(() => {
        ticking = false;
      });
  }, slotMs);
  return () => clearInterval(timer);
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
