import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { ApiError, CONSOLE_OPERATIONS, type OPERATIONS, type RateLimitName } from '@flywheel/api';
import { clearedSessionCookie, sessionCookie } from '@flywheel/service/internal/http/operations/authentication.ts';
import type { Handlers, OperationTable } from '@flywheel/service/internal/http/operations/handlers.ts';
import { createServer, type ServerDeps } from '@flywheel/service/internal/http/server.ts';
import { readSite } from '@flywheel/service/internal/http/site.ts';
import type { FoundApiKey, FoundKeyHolder } from '@flywheel/service/internal/model/key-holder.ts';
import type { Project } from '@flywheel/service/internal/model/project.ts';
import { createApiKey } from '@flywheel/service/internal/projects/api-key.ts';
import { createMetrics } from '@flywheel/service/internal/telemetry/metrics.ts';
import { address } from '@solana/kit';
import { pino } from 'pino';

export { readSite };

export const BATCH_ID = '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d';
export const SESSION_TOKEN = 'session-token-of-the-tests';
export const WALLET = address('7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe');
const NOW = new Date('2026-11-21T12:00:00.000Z');

const SOME_ADDRESS = address('11111111111111111111111111111111');
export const PROJECT: Project = {
  id: 'b7a2d3c0-54e1-4f3a-8f55-1d2d8f1f0f11',
  wallet: WALLET,
  scopes: new Set(['burn', 'airdrop']),
  dailyLimits: { burnBaseUnits: 0n, airdropBaseUnits: 0n },
  approvalMode: 'automatic',
  isAdmitted: true,
  token: { id: 't', mint: SOME_ADDRESS, decimals: 6, programAddress: SOME_ADDRESS },
  flywheel: {
    id: 'f',
    multisig: {
      address: SOME_ADDRESS,
      vault: SOME_ADDRESS,
      vaultIndex: 0,
      operator: SOME_ADDRESS,
      recovery: null,
      rentCollector: SOME_ADDRESS,
      company: SOME_ADDRESS,
      wallet: WALLET,
      lookupTable: { address: SOME_ADDRESS, addresses: [] },
    },
  },
};

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly apiKey: string;
  /** All lines logged so far. */
  readonly log: () => string;
  readonly server: ReturnType<typeof createServer>;
  /** Adds a key that opens the project, in the form that a store holds. */
  addKey(key?: Partial<FoundApiKey>): string;
  fetch(path: string, init?: RequestInit & { readonly apiKey?: string | null }): Promise<Response>;
  /** Sends these bytes and nothing after them; resolves with everything received once the connection is closed. */
  send(bytes: string | Uint8Array): Promise<string>;
}

export interface TestServerOptions extends Partial<Omit<ServerDeps, 'handlers' | 'consoleHandlers'>> {
  readonly handlers?: Partial<Handlers<typeof OPERATIONS>>;
  readonly consoleHandlers?: Partial<Handlers<typeof CONSOLE_OPERATIONS>>;
  readonly requestsPerWindow?: number;
  /** What every key opens; by default `PROJECT`. */
  readonly project?: FoundKeyHolder['project'];
  /** Whether that project is about to move to another shard. */
  readonly isMoving?: boolean;
}

/** Starts a server on a free port with handlers in memory: the HTTP layer without what is behind it. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const keys = new Map<string, FoundApiKey>();
  const lines: string[] = [];
  const sink = new PassThrough();
  sink.on('data', (chunk) => lines.push(String(chunk)));
  const {
    handlers,
    consoleHandlers,
    requestsPerWindow = 1_000_000,
    project = PROJECT,
    isMoving = false,
    ...deps
  } = options;
  const { rateLimits = countingLimits(requestsPerWindow) } = deps;
  const server = createServer({
    findKeyHolder: async ({ prefix }, { name }) => {
      const key = keys.get(prefix);
      return key
        ? { checkedAt: NOW, key, project, isMoving, limit: await rateLimits.consume(name, key.id), batch: null }
        : null;
    },
    hasDeparted: async () => false,
    touchApiKey: async () => undefined,
    findOpenSession: async (token) => (token === SESSION_TOKEN ? { wallet: WALLET, expiresAt: NOW } : null),
    companyOperators: new Set(),
    rateLimits,
    addressLimits: { count: () => undefined, requireSearch: async () => () => undefined },
    readiness: {},
    isUnavailable: () => false,
    isNodeUnavailable: () => false,
    site: null,
    readConnectUrls: async () => [],
    readVaultFigures: async (address) => {
      throw new ApiError('ERR_VAULT_NOT_FOUND', { address });
    },
    publicUrl: null,
    log: pino({ level: 'trace' }, sink),
    metrics: createMetrics(),
    handlers: { ...HANDLERS, ...handlers },
    consoleHandlers: { ...CONSOLE_HANDLERS, ...consoleHandlers },
    ...deps,
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const addKey: TestServer['addKey'] = (key = {}) => {
    const { apiKey, prefix, hash } = createApiKey(randomBytes(32));
    const id = `key-${keys.size + 1}`;
    keys.set(prefix, {
      id,
      projectId: PROJECT.id,
      hash,
      scopes: new Set(['burn']),
      expiresAt: null,
      lastUsedAt: null,
      revokedAt: null,
      ...key,
    });
    return apiKey;
  };
  const apiKey = addKey();
  return {
    url,
    apiKey,
    server,
    addKey,
    log: () => lines.join(''),
    fetch: (path, { apiKey: key = apiKey, headers, ...init } = {}) =>
      fetch(url + path, { ...init, headers: { ...(key !== null && { 'x-service-api-key': key }), ...headers } }),
    send: (bytes) => exchange(new URL(url).port, bytes),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Builds a JSON body and the headers that it needs. */
export function json(body: unknown, headers: { readonly [name: string]: string } = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { method: 'POST', body: text, headers: { 'content-type': 'application/json', ...headers } };
}

function countingLimits(requests: number) {
  const counts = new Map<string, number>();
  const limit = { requests, seconds: 60 };
  const limits: Record<RateLimitName, typeof limit> = {
    init: limit,
    execute: limit,
    get: limit,
    current: limit,
    preview: limit,
    console: limit,
    heavy: limit,
    project: limit,
    proof: limit,
  };
  return {
    limits,
    async consume(name: RateLimitName, key: string) {
      const count = (counts.get(`${name} ${key}`) ?? 0) + 1;
      counts.set(`${name} ${key}`, count);
      return { allowed: count <= requests, remaining: Math.max(0, requests - count), resetSeconds: 41 };
    },
  };
}

function exchange(port: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(received));
    // A server that rejects a body while it is being sent may reset the connection after its answer.
    socket.on('error', (error) => (received === '' ? reject(error) : resolve(received)));
    socket.write(bytes);
  });
}

const PREVIEWED_LIMIT = { cap: '0', used: '0', asked: '0', left: '0', resetsAt: NOW.toISOString() };

const HANDLERS: Handlers<typeof OPERATIONS> = {
  initBatch: {
    checksBody: async () => ({
      status: 200,
      body: {
        proposalApproveTx: '',
        batch: {
          id: BATCH_ID,
          flywheelId: 'f',
          status: 'AVAILABLE_TO_QUEUE',
          pipelines: [],
          dateCreated: NOW.toISOString(),
        },
      },
    }),
  },
  previewBatch: {
    checksBody: async () => ({
      status: 200,
      body: {
        pipelines: [],
        problems: [],
        funds: {
          tokens: { needed: '0', available: '0', missing: '0' },
          lamports: { needed: '0', available: '0', missing: '0' },
        },
        limits: { burn: PREVIEWED_LIMIT, airdrop: PREVIEWED_LIMIT },
        cost: {
          feeLamports: '0',
          tipLamports: '0',
          vaultRentLamports: '0',
          rentLockedLamports: '0',
          operatorNetLamports: '0',
        },
      },
    }),
  },
  executeBatch: async (_context, { body }) => ({ status: 202, body: { batchId: body.batchId, status: 'FINALIZED' } }),
  getCurrentBatch: async () => ({ status: 200, body: null }),
  streamBatchEvents: async () => ({ status: 204, body: null }),
  cancelBatch: async (_context, { params }) => ({ status: 200, body: { batchId: params.batchId, status: 'FAILED' } }),
  listBatches: async () => ({ status: 200, body: { batches: [] } }),
  getBatch: async (_context, { params }) => ({
    status: 200,
    body: {
      id: params.batchId,
      flywheelId: 'f',
      tokenId: 't',
      mintAddress: SOME_ADDRESS,
      status: 'FINALIZED',
      batchIndex: '1',
      vaultIndex: '0',
      multisig: SOME_ADDRESS,
      vaultAddress: SOME_ADDRESS,
      dateCreated: NOW.toISOString(),
      dateUpdated: NOW.toISOString(),
    },
  }),
};

/** Operations that no server test uses are rejected with a code that every operation has. */
const CONSOLE_HANDLERS: Handlers<typeof CONSOLE_OPERATIONS> = {
  ...unanswered(CONSOLE_OPERATIONS),
  createSignInChallenge: async () => ({ status: 200, body: { message: 'm', expiresAt: NOW.toISOString() } }),
  signIn: async ({ origin }, { body }) => ({
    status: 200,
    body: { wallet: body.wallet, expiresAt: NOW.toISOString(), isCompanyOperator: false },
    headers: { 'set-cookie': sessionCookie(SESSION_TOKEN, 60, origin) },
  }),
  signOut: async ({ origin }) => ({ status: 200, body: {}, headers: { 'set-cookie': clearedSessionCookie(origin) } }),
  createRegistration: async () => ({
    status: 200,
    body: {
      registrationId: BATCH_ID,
      transaction: '',
      multisig: '',
      vaultAddress: '',
      costLamports: '0',
      warnings: [],
    },
  }),
  confirmRegistration: async () => ({
    status: 200,
    body: {
      projectId: BATCH_ID,
      flywheelId: '',
      tokenId: '',
      mintAddress: '',
      apiKey: '',
      multisig: '',
      vaultAddress: '',
    },
  }),
  createKey: async () => ({ status: 200, body: { keyId: BATCH_ID, apiKey: '' } }),
  revokeKey: async (_context, { params }) => ({
    status: 200,
    body: { keyId: params.keyId, revokedAt: NOW.toISOString(), cancelledBatches: 0 },
  }),
};

function unanswered<Rows extends OperationTable>(rows: Rows): Handlers<Rows> {
  const refuse = async () => {
    throw new ApiError('ERR_RATE_LIMITED', { requests: 0, seconds: 1, retryAfterSeconds: 1 });
  };
  // One handler for every row, whose types no caller sees: it never returns an answer.
  return Object.fromEntries(Object.keys(rows).map((id) => [id, refuse])) as unknown as Handlers<Rows>;
}
