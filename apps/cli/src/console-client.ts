import {
  type AnswersOfShards,
  askEveryShard,
  askShards,
  CONFIRM_REGISTRATION_TIMEOUT_MS,
  CONSOLE_OPERATIONS,
  isOutcomeUnknown,
  isSignInMessageFor,
  NO_SHARD,
  type Operation,
  type OperationReply,
  type OperationRequest,
  type RegisteredProject,
  type Registration,
  readShardOfError,
  type ShardFailure,
  type ShardHeaders,
} from '@flywheel/api';
import { encodeBase58 } from '@flywheel/protocol';
import {
  type Connection,
  FlywheelError,
  isFlywheelError,
  type RegistrationInput,
  type RegistrationRefusal,
  type RegistrationTerms,
  type RequestParts,
  type SendOptions,
  sendRequest,
  verifyAndSignRegistration,
  verifyRegistered,
} from '@flywheel/sdk';
import { createSignableMessage, type KeyPairSigner, type SignatureBytes } from '@solana/kit';
import { CliError } from './errors.ts';

type Request<O extends Operation> = OperationRequest<O> & RequestParts;
type Body<O extends Operation> = OperationReply<O>['body'];

/** The console’s API for the command line: a wallet signs in, then the calls act in its name. */
export interface ConsoleClient {
  /** Sends an operation of `CONSOLE_OPERATIONS`, and repeats it after a lost answer. */
  call<O extends Operation>(operation: O, request: Request<O>): Promise<Body<O>>;
  /** Sends an operation that has an effect each time it is sent: it is not repeated after a lost answer. */
  callOnce<O extends Operation>(operation: O, request: Request<O>): Promise<Body<O>>;
  /**
   * Sends an operation like `call`, to the shard that its headers name if there is one, and returns the answer with its
   * headers.
   */
  callForReply<O extends Operation>(operation: O, request: Request<O>): Promise<OperationReply<O>>;
  /**
   * Sends an operation to every shard at which `signInEverywhere` has signed in, and repeats it after a lost answer. The shards
   * at which it could not are among the failures.
   * @throws the first error if no shard answers.
   */
  callEach<O extends Operation>(operation: O, request: Request<O>): Promise<AnswersOfShards<OperationReply<O>>>;
  /** Signs the wallet in with Sign-In With Solana. */
  signIn(wallet: KeyPairSigner): Promise<void>;
  /**
   * Signs the wallet in at every shard of the service, each of which has sessions of its own. @returns those that failed.
   * @throws the first error if all have failed.
   */
  signInEverywhere(wallet: KeyPairSigner): Promise<readonly ShardFailure[]>;
  /** The shards at which `signInEverywhere` has signed in. */
  readonly shards: readonly number[];
  /** The shards at which `signInEverywhere` has failed. */
  readonly missing: readonly ShardFailure[];
  /**
   * Registers a project: the wallet signs and pays for the transaction that creates its multisig. The transaction is
   * verified before the wallet signs, and the chain afterwards.
   */
  register(
    wallet: KeyPairSigner,
    request: OperationRequest<typeof CONSOLE_OPERATIONS.createRegistration>['body'],
    verification: RegisterVerification,
  ): Promise<RegistrationOutcome>;
}

export interface RegistrationOutcome {
  readonly project: RegisteredProject;
  readonly registration: Registration;
  /** The registration that the wallet has signed and the chain holds. */
  readonly terms: RegistrationTerms;
}

export interface RegisterVerification {
  /** A Solana node of the wallet’s holder. */
  readonly rpcUrl: string;
  /** The addresses that the registration may name; any by default. */
  readonly expect?: RegistrationInput['expect'];
  /** Called with what is about to be signed, and the service's answer, before the wallet signs; it may throw. */
  readonly onVerified?: (terms: RegistrationTerms, registration: Registration) => Promise<void>;
  /** Called when the wallet has signed, before the service gets the transaction: its answer may be lost. */
  readonly onSigned?: (terms: RegistrationTerms) => void;
  /** Called with the reasons against signing, before the error is thrown; it may throw another one. */
  readonly onRefused?: (refusal: RegistrationRefusal) => void;
}

/**
 * A shard that does not answer should not hold up those that do. The second attempt is after the 2 s that the reverse
 * proxy names.
 */
const ATTEMPTS_PER_SHARD = 2;

const TOO_MANY_REQUESTS = 429;

export interface ConsoleClientOptions {
  readonly url: string;
  readonly fetch?: typeof fetch;
}

export function createConsoleClient({ url, ...options }: ConsoleClientOptions): ConsoleClient {
  const fetchWithCookies = keepCookies(options.fetch ?? fetch);
  const connection: Connection = { url, fetch: fetchWithCookies, headers: { origin: new URL(url).origin } };

  const call: ConsoleClient['call'] = async (operation, request) =>
    (await sendRequest(connection, operation, request, { repeatable: true })).body;
  let signedIn: AnswersOfShards<unknown> = { answers: [], failures: [] };
  const signedInShards = () => signedIn.answers.map(({ shard }) => shard);
  const callForReply: ConsoleClient['callForReply'] = (operation, request) =>
    sendRequest(connection, operation, request, { repeatable: true, mayRetry: repeatForShard() });
  const callEach: ConsoleClient['callEach'] = async (operation, request) => {
    const { answers, failures } = await askShards(signedInShards(), (headers) =>
      callForReply(operation, { ...request, headers }),
    );
    if (answers.length === 0) throw failures[0]?.error ?? new Error('The wallet has not signed in at any shard.');
    return { answers, failures: [...signedIn.failures, ...failures].toSorted((a, b) => a.shard - b.shard) };
  };
  const callOnce: ConsoleClient['callOnce'] = async (operation, request) =>
    (await sendRequest(connection, operation, request, { repeatable: false })).body;

  const signIn = async (wallet: KeyPairSigner, headers: ShardHeaders, mayRetry?: SendOptions['mayRetry']) => {
    const body = { wallet: wallet.address };
    const options = mayRetry === undefined ? {} : { mayRetry };
    const asked = { headers, body };
    const { message } = (
      await sendRequest(connection, CONSOLE_OPERATIONS.createSignInChallenge, asked, { repeatable: true, ...options })
    ).body;
    requireSignInMessage(message, { url, wallet: wallet.address });
    const signature = encodeBase58(await signText(wallet, message));
    const signed = { headers, body: { ...body, message, signature } };
    return sendRequest(connection, CONSOLE_OPERATIONS.signIn, signed, { repeatable: false, ...options });
  };

  return {
    call,
    callOnce,
    callForReply,
    callEach,

    get shards() {
      return signedInShards();
    },

    get missing() {
      return signedIn.failures;
    },

    async signIn(wallet) {
      await signIn(wallet, {});
    },

    async signInEverywhere(wallet) {
      signedIn = await askEveryShard((headers) => signIn(wallet, headers, repeatForShard()));
      return signedIn.failures;
    },

    async register(wallet, body, { rpcUrl, expect, onVerified, onSigned, onRefused }) {
      const registration = await call(CONSOLE_OPERATIONS.createRegistration, { body });
      const input = { wallet, mint: body.mint, registration, ...(expect !== undefined && { expect }) };
      const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, input, {
        onVerified: async (verified) => onVerified?.(verified, registration),
        ...(onRefused !== undefined && { onRefused }),
      });
      onSigned?.(terms);
      const project = await confirmRegistration(connection, registration.registrationId, signedTransaction);
      await compareRegistered(rpcUrl, terms, project);
      return { project, registration, terms };
    },
  };
}

/**
 * Sends the transaction of a registration that the wallet has signed. It is not repeated after a lost answer.
 * @throws CliError without an answer that tells if the project exists: another registration would be paid for too.
 */
async function confirmRegistration(
  connection: Connection,
  registrationId: string,
  signedTransaction: string,
): Promise<RegisteredProject> {
  try {
    const request = { params: { registrationId }, body: { signedTransaction } };
    const options = { repeatable: false, timeoutMs: CONFIRM_REGISTRATION_TIMEOUT_MS };
    return (await sendRequest(connection, CONSOLE_OPERATIONS.confirmRegistration, request, options)).body;
  } catch (error) {
    if (!isFlywheelError(error) || !isOutcomeUnknown(error)) throw error;
    throw new CliError(
      error.code,
      `${error.message} The wallet has signed, so the project may exist. Look with flywheel project show in a minute, before you register again; if it exists, flywheel keys create makes an API key for it.`,
      { cause: error },
    );
  }
}

/**
 * Compares a project with the chain.
 * @throws CliError that has the API key, which the service shows only once.
 */
async function compareRegistered(rpcUrl: string, terms: RegistrationTerms, project: RegisteredProject): Promise<void> {
  try {
    await verifyRegistered(rpcUrl, terms, project);
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    const { projectId, apiKey } = project;
    throw new CliError(
      error.code,
      `${error.message} The service has created project ${projectId}; do not register again for the same reason. Its API key, shown only once: ${apiKey}`,
      { cause: error },
    );
  }
}

/**
 * Returns a function that tells if a request to each shard is repeated after an error. If none is responsible for it,
 * each shard is asked by its number instead.
 */
function repeatForShard(): (error: FlywheelError) => boolean {
  let attempts = 1;
  return (error) => {
    const { shard, count } = readShardOfError(error);
    if (count === 1 || error.status === TOO_MANY_REQUESTS) return true;
    attempts += 1;
    return shard !== NO_SHARD && attempts <= ATTEMPTS_PER_SHARD;
  };
}

/** Wraps fetch so that it keeps cookies, here the session’s, while the process runs. */
function keepCookies(send: typeof fetch): typeof fetch {
  const cookies = new Map<string, string>();
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (cookies.size > 0) headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await send(input, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=;]+)=([^;]*)/.exec(cookie) ?? [];
      if (name !== undefined && value !== undefined) cookies.set(name, value);
    }
    return response;
  };
}

/** Prevents a service from getting a signature of another text, for example one to sign in at another host. */
function requireSignInMessage(
  message: string,
  { url, wallet }: { readonly url: string; readonly wallet: string },
): void {
  const { host } = new URL(url);
  if (isSignInMessageFor({ host, wallet }, message)) return;
  throw new FlywheelError({
    code: 'ERR_SIGNING_REFUSED',
    message: `Not signed: the sign-in message from ${url} is not one of ${wallet} for ${host}. It begins: ${message.slice(0, 80)}`,
  });
}

/** Signs a text as its raw bytes. */
export async function signText(wallet: KeyPairSigner, text: string): Promise<SignatureBytes> {
  const [signatures] = await wallet.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[wallet.address];
  if (!signature) throw new Error(`The wallet ${wallet.address} returned no signature.`);
  return signature;
}
