import { isJsonObject } from '@flywheel/protocol';
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR } from '@flywheel/solana-rpc';
import { stringifyJson } from '../json.ts';
import { CallError } from './call-error.ts';

/** Handles one call. It throws CallError for errors of the caller; any other exception becomes an internal error. */
export type Method = (params: readonly unknown[]) => unknown;
export type Methods = ReadonlyMap<string, Method>;

/** A request of 50 KiB can ask a thousand times for a list of megabytes, which no process could hold together. */
const MAX_BATCH_MIB = 32;
const SERVER_ERROR = -32_000;
/** Other requests wait for one slice of a batch at most. */
const SLICE_MS = 10;

/**
 * Answers calls as a validator's server does (jsonrpc-core): one, or a batch in order, because calls in it may depend on
 * their order. What is not even an object, or has an id that is no id, is an error of the whole request. Notifications
 * have no effect. Unlike a validator, it executes no more members of a batch once their answers are too long together.
 * Returns JSON; null if there is nothing to answer.
 */
export async function answerCalls(
  methods: Methods,
  calls: unknown,
  onError: (error: unknown) => void,
): Promise<string | null> {
  const list = Array.isArray(calls) ? calls : [calls];
  if (!list.every(isReadable)) return stringifyJson(errorResponse(null, new CallError(PARSE_ERROR, 'Parse error')));
  const answers: string[] = [];
  let length = 0;
  let sliceEnd = performance.now() + SLICE_MS;
  for (const call of list) {
    if (performance.now() >= sliceEnd) {
      await new Promise((resolve) => setImmediate(resolve));
      sliceEnd = performance.now() + SLICE_MS;
    }
    const answer = await answerCall(length < MAX_BATCH_MIB * 1024 * 1024 ? methods : REFUSING, call, onError);
    if (answer === null) continue;
    const text = stringifyJson(answer);
    answers.push(text);
    length += text.length;
  }
  if (answers.length === 0) return null;
  return Array.isArray(calls) ? `[${answers.join()}]` : (answers[0] ?? null);
}

/** The methods of the members after the maximum. */
const REFUSING: Pick<Methods, 'get'> = {
  get: (name) => () => {
    const reason = `the answers before it in this batch have ${MAX_BATCH_MIB} MiB, the maximum`;
    throw new CallError(SERVER_ERROR, `Not executed: ${reason}. Send ${name} in another request.`);
  },
};

async function answerCall(
  methods: Pick<Methods, 'get'>,
  call: Readonly<Record<string, unknown>>,
  onError: (error: unknown) => void,
): Promise<object | null> {
  const { jsonrpc, method, params, id } = call;
  const isWhole =
    (jsonrpc === '2.0' || jsonrpc === undefined || jsonrpc === null) &&
    typeof method === 'string' &&
    (typeof params === 'object' || params === undefined) &&
    Object.keys(call).every((name) => MEMBERS.has(name));
  if (!isWhole) return errorResponse(id ?? null, new CallError(INVALID_REQUEST, 'Invalid request'));
  if (id === undefined) return null;
  if (jsonrpc !== '2.0') {
    // A call without a version is answered without one.
    return { error: { code: INVALID_REQUEST, message: 'Unsupported JSON-RPC protocol version' }, id };
  }
  try {
    const run = methods.get(method);
    if (!run) throw new CallError(METHOD_NOT_FOUND, 'Method not found');
    return { jsonrpc: '2.0', result: await run(positional(params ?? [])), id };
  } catch (error) {
    if (!(error instanceof CallError)) onError(error);
    return errorResponse(id, error instanceof CallError ? error : new CallError(INTERNAL_ERROR, 'Internal error'));
  }
}

const MEMBERS = new Set(['jsonrpc', 'method', 'params', 'id']);

function positional(params: object): readonly unknown[] {
  if (Array.isArray(params)) return params;
  throw new CallError(INVALID_PARAMS, '`params` should be an array');
}

function isReadable(call: unknown): call is Record<string, unknown> {
  if (!isJsonObject(call)) return false;
  const { id } = call;
  const isCount = (typeof id === 'number' && Number.isInteger(id) && id >= 0) || (typeof id === 'bigint' && id >= 0n);
  return id === undefined || id === null || typeof id === 'string' || isCount;
}

/** Builds an error response. */
export function errorResponse(id: unknown, { code, message, details }: CallError): object {
  return { jsonrpc: '2.0', error: { code, message, ...(details !== undefined && { data: details }) }, id };
}
