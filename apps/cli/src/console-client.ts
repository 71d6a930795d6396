import {
  type BatchDetail,
  type BatchProgress,
  CONSOLE_OPERATIONS,
  type CreatedKey,
  type Environment,
  type KeySummary,
  type OperationRequest,
  type ProjectOverview,
  type ProjectSettings,
  type ProjectSummary,
  type ProofCheck,
  type ProofCheckRequest,
  type ProofType,
  type RegisteredProject,
  type Registration,
  type RevokedKey,
  type RotatedKey,
  type Scope,
} from '@flywheel/api';
import { type Connection, FlywheelError, sendRequest, signTransaction } from '@flywheel/sdk';
import { createSignableMessage, getBase58Decoder, type KeyPairSigner } from '@solana/kit';
import { createWebhookCalls, type WebhookCalls } from './webhook-calls.ts';

export interface Registered {
  readonly project: RegisteredProject;
  readonly registration: Registration;
}

type RegistrationBody = OperationRequest<typeof CONSOLE_OPERATIONS.createRegistration>['body'];

export interface ConsoleClient {
  /** Which cluster the service is on; needs no wallet. */
  readEnvironment(): Promise<Environment>;
  /** What the service knows of a proof; needs no wallet. */
  checkProof(question: ProofCheckRequest): Promise<ProofCheck>;
  /** Proves the wallet; the calls below act in its name. */
  signIn(wallet: KeyPairSigner): Promise<void>;
  /** Registers a project: the wallet signs and pays for the transaction that creates its multisig. */
  register(wallet: KeyPairSigner, request: RegistrationBody): Promise<Registered>;
  /** Newest first. */
  listProjects(): Promise<ProjectSummary[]>;
  readProject(projectId: string): Promise<ProjectOverview>;
  /** With what became of each pipeline. */
  readBatch(projectId: string, batchId: string): Promise<BatchDetail>;
  /** All but its pipelines. */
  readBatchProgress(projectId: string, batchId: string): Promise<BatchProgress>;
  readSettings(projectId: string): Promise<ProjectSettings>;
  /** Whole tokens a UTC day. */
  changeLimits(
    projectId: string,
    limits: { readonly burnLimit: string; readonly airdropLimit: string },
  ): Promise<ProjectSettings>;
  /** All there are to be. */
  changeProofTypes(projectId: string, proofTypes: ProofType[]): Promise<ProjectSettings>;
  /** Newest first. */
  listKeys(projectId: string): Promise<KeySummary[]>;
  createKey(projectId: string, request: { readonly scopes?: Scope[]; readonly name?: string }): Promise<CreatedKey>;
  /** Makes a key in place of another; both work until the overlap is over. */
  rotateKey(
    projectId: string,
    keyId: string,
    request: { readonly overlapSeconds?: number; readonly name?: string },
  ): Promise<RotatedKey>;
  revokeKey(projectId: string, keyId: string): Promise<RevokedKey>;
  readonly webhooks: WebhookCalls;
}

/** What a call does twice when sent twice is sent once. */
const ONCE = { repeatable: false } as const;
const REPEATABLE = { repeatable: true } as const;
/** The service waits for the registration to be confirmed by the cluster. */
const CONFIRM_TIMEOUT_MS = 90_000;

/** The console’s API from a terminal: a wallet signs in, then registers projects and makes keys. */
export function createConsoleClient({ url }: { readonly url: string }): ConsoleClient {
  const connection: Connection = { url, fetch: withCookies(), headers: { origin: new URL(url).origin } };
  const operations = CONSOLE_OPERATIONS;

  return {
    async readEnvironment() {
      return (await sendRequest(connection, operations.getEnvironment, {}, REPEATABLE)).body;
    },

    async checkProof(body) {
      return (await sendRequest(connection, operations.checkProof, { body }, REPEATABLE)).body;
    },

    async signIn(wallet) {
      const body = { wallet: wallet.address };
      const challenge = await sendRequest(connection, operations.createSignInChallenge, { body }, REPEATABLE);
      const { message } = challenge.body;
      requireOwnDomain(message, url);
      const signature = await signText(wallet, message);
      await sendRequest(connection, operations.signIn, { body: { ...body, message, signature } }, ONCE);
    },

    async register(wallet, request) {
      const { body: registration } = await sendRequest(
        connection,
        operations.createRegistration,
        { body: request },
        REPEATABLE,
      );
      const signedTransaction = await signTransaction(registration.transaction, wallet);
      const { body: project } = await sendRequest(
        connection,
        operations.confirmRegistration,
        { params: { registrationId: registration.registrationId }, body: { signedTransaction } },
        { ...ONCE, timeoutMs: CONFIRM_TIMEOUT_MS },
      );
      return { project, registration };
    },

    async listProjects() {
      return (await sendRequest(connection, operations.listProjects, {}, REPEATABLE)).body.projects;
    },

    async readProject(projectId) {
      return (await sendRequest(connection, operations.getProject, { params: { projectId } }, REPEATABLE)).body;
    },

    async readBatch(projectId, batchId) {
      const request = { params: { projectId, batchId } };
      return (await sendRequest(connection, operations.getProjectBatch, request, REPEATABLE)).body;
    },

    async readBatchProgress(projectId, batchId) {
      const request = { params: { projectId, batchId } };
      return (await sendRequest(connection, operations.getBatchProgress, request, REPEATABLE)).body;
    },

    async readSettings(projectId) {
      return (await sendRequest(connection, operations.getSettings, { params: { projectId } }, REPEATABLE)).body;
    },

    async changeLimits(projectId, body) {
      const reply = await sendRequest(connection, operations.changeLimits, { params: { projectId }, body }, REPEATABLE);
      return reply.body;
    },

    async changeProofTypes(projectId, proofTypes) {
      const request = { params: { projectId }, body: { proofTypes } };
      return (await sendRequest(connection, operations.changeProofTypes, request, REPEATABLE)).body;
    },

    async listKeys(projectId) {
      const reply = await sendRequest(connection, operations.listKeys, { params: { projectId } }, REPEATABLE);
      return reply.body.keys;
    },

    async createKey(projectId, request) {
      const reply = await sendRequest(connection, operations.createKey, { params: { projectId }, body: request }, ONCE);
      return reply.body;
    },

    async rotateKey(projectId, keyId, body) {
      const reply = await sendRequest(connection, operations.rotateKey, { params: { projectId, keyId }, body }, ONCE);
      return reply.body;
    },

    async revokeKey(projectId, keyId) {
      const reply = await sendRequest(connection, operations.revokeKey, { params: { projectId, keyId } }, REPEATABLE);
      return reply.body;
    },

    webhooks: createWebhookCalls(connection),
  };
}

/** A fetch that keeps the session’s cookie for as long as the process lives. */
function withCookies(): typeof fetch {
  const cookies = new Map<string, string>();
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (cookies.size > 0) headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(input, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(cookie) ?? [];
      if (name !== undefined && value !== undefined) cookies.set(name, value);
    }
    return response;
  };
}

/** A sign-in message that names another host would sign the wallet in there. */
function requireOwnDomain(message: string, url: string): void {
  const { host } = new URL(url);
  if (message.startsWith(`${host} wants you to sign in with your Solana account:\n`)) return;
  throw new FlywheelError({
    code: 'ERR_SIGNING_REFUSED',
    message: `Not signed: the sign-in message of ${url} is not for ${host}. It begins: ${message.slice(0, 80)}`,
  });
}

async function signText(wallet: KeyPairSigner, text: string): Promise<string> {
  const [signatures] = await wallet.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[wallet.address];
  if (!signature) throw new Error(`The wallet ${wallet.address} gave no signature.`);
  return getBase58Decoder().decode(signature);
}
