import { randomUUID } from 'node:crypto';
import { ApiError } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import { createFairGate, newShare } from '../model/fair-gate.ts';
import type { Project } from '../model/project.ts';
import { orUnavailable } from '../store/database-unavailable.ts';
import type { Db } from '../store/db.ts';
import type { Jobs } from '../store/jobs/jobs.ts';
import { type ListenDeps, startListening } from '../store/listen.ts';
import { reportWaiters } from '../store/nonce-demand.ts';
import { NONCES_CHANNEL } from '../store/nonces.ts';

/** Inits of this process that wait for a nonce. */
export interface NonceQueue {
  /** Gives a ticket for the end of a project's line. The holder disposes of it when its attempts are over. */
  enter(project: Project): NonceTicket;
  /** The number of inits that wait now. */
  count(): number;
  /** Answers all that wait as if their time was over, and those that would wait from now on. Attempts under way are finished. */
  stop(): Promise<void>;
}

/** An init is in the queue while it holds a ticket. */
export interface NonceTicket extends Disposable {
  /**
   * Waits for the turn to lease a nonce. Projects take turns, admitted ones first, and one project's attempts follow
   * each other. The second call, and each after it, says that the pool was empty, after everything that the attempt did
   * was undone: it waits for nonces, ten seconds at most, and up to 30 seconds while those before it find some.
   * @throws ApiError ERR_NONCE_POOL_EMPTY after that time, or at once if too many wait already; DatabaseUnavailable if
   * the attempts before it do not end within 30 seconds.
   */
  turn(): Promise<void>;
}

/** A client waits this long before it asks again; a pool that is refilled grows within seconds. */
const NONCE_REFILL_SECONDS = 5;

/**
 * First attempts at a time. Each has a connection to the database until its end, and this leaves half of the ten to other
 * requests, which would wait behind all attempts otherwise.
 */
const MAX_ATTEMPTS = 5;
/** For a nonce. */
const MAX_WAIT_MS = 10_000;
/** On a busy machine an attempt takes half a second, and 64 of a project follow each other. */
const MAX_TURN_MS = 30_000;
/** Longer than an attempt: a line without success for this time waits for nonces. */
const STALLED_MS = 2_000;
/** More than a project may have open by default (MAX_OPEN_BATCHES), so that its own limit answers first. */
const MAX_WAITING_PER_PROJECT = 64;
/** Each holds a compiled batch in memory. */
const MAX_WAITING = 256;
/** Limit of all projects together that are not admitted. The rest is left to the others. */
const MAX_WAITING_UNADMITTED = MAX_WAITING / 2;
/** Notifications come at once; the poll is for one that was lost with its connection. */
const POLL_MS = 1_000;
/** Inits of a burst are reported together. */
const REPORT_DELAY_MS = 25;

export interface NonceQueueDeps extends ListenDeps {
  readonly db: Db;
  readonly jobs: Pick<Jobs, 'enqueue'>;
}

export function createNonceQueue(deps: NonceQueueDeps): NonceQueue {
  const { db, jobs, clock, log } = deps;
  const processId = randomUUID();
  /** Inits that may lease the same nonces: all of one admitted project, or those of all other projects. */
  const lines = new Map<string, Line>();
  const lastTurns = new Map<Address, Promise<unknown>>();
  const attempts = createFairGate({ capacity: MAX_ATTEMPTS, clock });
  const stopping = new AbortController();
  const { signal } = stopping;
  let isServing = false;
  let served = Promise.resolve();
  let isReporting = false;
  let reported = Promise.resolve();

  const waiting = () => [...lines.values()].flatMap(waitersOf);

  const writeReport = async () => {
    await clock.sleep(REPORT_DELAY_MS);
    isReporting = false;
    const byProject = Map.groupBy(waiting(), ({ multisig }) => multisig);
    try {
      await reportWaiters(db, processId, new Map([...byProject].map(([multisig, { length }]) => [multisig, length])));
      if (byProject.size > 0) await jobs.enqueue(db, { type: 'refill-nonces' });
    } catch (err) {
      log.warn({ err }, 'the inits that wait for a nonce could not be reported');
    }
  };
  const report = () => {
    if (!isReporting) reported = writeReport();
    isReporting = true;
    return reported;
  };

  /** Listens and polls while an init waits. */
  const serve = async () => {
    const wake = () => {
      for (const line of lines.values()) void pump(line, clock, signal);
    };
    const listening = startListening(deps, NONCES_CHANNEL, { onListening: wake, onNotice: wake });
    while (waiting().length > 0 && !signal.aborted) {
      await clock.sleep(POLL_MS, signal).catch(() => undefined);
      const nowMs = clock.now().getTime();
      for (const line of lines.values()) removeExpired(line, nowMs);
      wake();
      await report();
    }
    isServing = false;
    await listening.stop();
  };

  return {
    enter(project) {
      const { address } = project.flywheel.multisig;
      const name = project.isAdmitted ? address : '';
      const line = lines.get(name) ?? { projects: new Map(), trying: null, isWoken: false, servedMs: 0 };
      lines.set(name, line);
      // Attempts of one project would only wait for its lock, each with a connection.
      const before = lastTurns.get(address) ?? Promise.resolve();
      const first = Promise.withResolvers<void>();
      lastTurns.set(address, first.promise);
      void first.promise.then(() => lastTurns.get(address) === first.promise && lastTurns.delete(address));
      let isFirst = true;
      let leave: () => void = () => undefined;
      let waiter: Waiter | null = null;
      return {
        async turn() {
          if (waiter !== null) return waiter.tryAgain();
          if (isFirst) {
            isFirst = false;
            await before;
            const share = { ...newShare(clock.now().getTime()), isExpected: project.isAdmitted };
            // Attempts end within milliseconds, unless the database is out of reach.
            leave = await attempts.enter(share, AbortSignal.timeout(MAX_TURN_MS)).catch(orUnavailable);
            // Those that wait go first.
            if (waitersOf(line).length === 0) return;
          }
          leave();
          first.resolve();
          const isFull =
            signal.aborted ||
            waiting().length >= MAX_WAITING ||
            (!project.isAdmitted && waitersOf(line).length >= MAX_WAITING_UNADMITTED) ||
            (line.projects.get(address)?.length ?? 0) >= MAX_WAITING_PER_PROJECT;
          if (isFull) throw poolEmpty();
          waiter = join(line, address, clock.now().getTime());
          if (!isServing) served = serve();
          isServing = true;
          void report();
          return waiter.turn();
        },
        [Symbol.dispose]() {
          leave();
          first.resolve();
          waiter?.leave();
        },
      };
    },
    count: () => waiting().length,
    stop: async () => {
      stopping.abort();
      for (const line of lines.values()) removeExpired(line, Number.POSITIVE_INFINITY);
      await served;
    },
  };
}

interface Waiter {
  readonly multisig: Address;
  readonly sinceMs: number;
  /** Resolves when it is this waiter's turn. */
  turn(): Promise<void>;
  /** Ends the turn because the pool was empty, and waits for the next one. */
  tryAgain(): Promise<void>;
  /** Ends the turn with success, or with an error that no other nonce would change. */
  leave(): void;
  /** Gives the turn. @returns false if the pool was empty. */
  grant(): Promise<boolean>;
  expire(): void;
}

interface Line {
  /** In the order of the next turns. */
  projects: Map<Address, Waiter[]>;
  /** The one whose attempt is under way. It still waits, and goes first again if the pool is empty. */
  trying: Waiter | null;
  isWoken: boolean;
  /** When an attempt last found a nonce. */
  servedMs: number;
}

function waitersOf({ projects, trying }: Line): Waiter[] {
  return [...(trying === null ? [] : [trying]), ...[...projects.values()].flat()];
}

function join(line: Line, multisig: Address, sinceMs: number): Waiter {
  let turn = Promise.withResolvers<void>();
  let ended = Promise.withResolvers<boolean>();
  const waiter: Waiter = {
    multisig,
    sinceMs,
    turn: () => turn.promise,
    tryAgain() {
      const { resolve } = ended;
      turn = Promise.withResolvers<void>();
      ended = Promise.withResolvers<boolean>();
      resolve(false);
      return turn.promise;
    },
    leave: () => ended.resolve(true),
    grant() {
      turn.resolve();
      return ended.promise;
    },
    expire: () => turn.reject(poolEmpty()),
  };
  line.projects.set(multisig, [...(line.projects.get(multisig) ?? []), waiter]);
  return waiter;
}

/** Lets the inits of a line try again, one after another and one project after another, until the pool is empty. */
async function pump(line: Line, clock: Clock, stopping: AbortSignal): Promise<void> {
  line.isWoken = true;
  if (line.trying !== null) return;
  while (line.isWoken) {
    line.isWoken = false;
    for (let next = takeNext(line); next !== null; next = takeNext(line)) {
      line.trying = next;
      const isDone = await next.grant();
      line.trying = null;
      if (isDone) {
        line.servedMs = clock.now().getTime();
        continue;
      }
      if (stopping.aborted) {
        next.expire();
        continue;
      }
      const others = line.projects.get(next.multisig) ?? [];
      line.projects = new Map([[next.multisig, [next, ...others]], ...withoutKey(line.projects, next.multisig)]);
      break;
    }
  }
}

function takeNext(line: Line): Waiter | null {
  const [first] = line.projects;
  if (first === undefined) return null;
  const [multisig, [next, ...others]] = first;
  line.projects.delete(multisig);
  if (others.length > 0) line.projects.set(multisig, others);
  return next ?? null;
}

function removeExpired(line: Line, nowMs: number): void {
  const expiredMs = nowMs - (nowMs - line.servedMs < STALLED_MS ? MAX_TURN_MS : MAX_WAIT_MS);
  for (const [multisig, waiters] of line.projects) {
    const left = waiters.filter(({ sinceMs }) => sinceMs > expiredMs);
    for (const waiter of waiters) if (!left.includes(waiter)) waiter.expire();
    if (left.length > 0) line.projects.set(multisig, left);
    else line.projects.delete(multisig);
  }
}

function withoutKey<Key, Value>(map: ReadonlyMap<Key, Value>, without: Key): [Key, Value][] {
  return [...map].filter(([key]) => key !== without);
}

function poolEmpty(): ApiError {
  return new ApiError('ERR_NONCE_POOL_EMPTY', { retryAfterSeconds: NONCE_REFILL_SECONDS });
}
