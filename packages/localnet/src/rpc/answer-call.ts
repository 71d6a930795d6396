import { INTERNAL_ERROR, INVALID_REQUEST, invalidParams, METHOD_NOT_FOUND, RpcError } from './rpc-error.ts';

/** Handles one call. It throws RpcError for errors of the caller; any other exception becomes an internal error. */
export type Method = (params: readonly unknown[]) => unknown;
export type Methods = ReadonlyMap<string, Method>;

/** Returns the response to one call; null for a notification. */
export async function answerCall(
  methods: Methods,
  call: unknown,
  onError: (error: unknown) => void,
): Promise<object | null> {
  if (!isRecord(call)) return failure(null, new RpcError(INVALID_REQUEST, 'Invalid request'));
  const { jsonrpc, method, params, id } = call;
  const isId =
    id === undefined || id === null || typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint';
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isId) {
    return failure(isId ? (id ?? null) : null, new RpcError(INVALID_REQUEST, 'Invalid request'));
  }
  try {
    const run = methods.get(method);
    if (!run) throw new RpcError(METHOD_NOT_FOUND, 'Method not found');
    if (params !== undefined && params !== null && !Array.isArray(params)) {
      throw invalidParams('expected an array of parameters');
    }
    const result = await run(params ?? []);
    return id === undefined ? null : { jsonrpc: '2.0', result, id };
  } catch (error) {
    if (!(error instanceof RpcError)) onError(error);
    if (id === undefined) return null;
    return failure(id, error instanceof RpcError ? error : new RpcError(INTERNAL_ERROR, 'Internal error'));
  }
}

/** Builds an error response. */
export function failure(id: unknown, { code, message, details }: RpcError): object {
  return { jsonrpc: '2.0', error: { code, message, ...(details !== undefined && { data: details }) }, id };
}

/** Returns true for a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
