import { METHOD_NOT_FOUND, RpcError } from '@flywheel/solana-rpc';
import { displayUrl } from './context.ts';
import { CliError, NO_ANSWER_EXIT_CODE } from './errors.ts';

/** Converts an error of a JSON-RPC call to one with the next step; other errors stay what they are. */
export function toClusterError(
  error: unknown,
  { rpcUrl, method }: { readonly rpcUrl: string; readonly method: string },
): unknown {
  if (!(error instanceof RpcError)) return error;
  const url = displayUrl(rpcUrl);
  switch (error.reason) {
    case 'unreachable':
    case 'timeout':
      return new CliError(
        'ERR_CLUSTER',
        `No cluster answers at ${url}. Start one with npm start or flywheel localnet start, or set SOLANA_RPC_URL.`,
        { cause: error, exitCode: NO_ANSWER_EXIT_CODE },
      );
    case 'http-status':
    case 'invalid-answer': {
      const message = `${error.message.replace(/\.?$/, '.')} Check that ${url} is a Solana RPC URL.`;
      return new CliError('ERR_CLUSTER', message, { cause: error });
    }
    case 'node-error': {
      const message =
        error.code === METHOD_NOT_FOUND
          ? `The cluster at ${url} is not a local cluster: it has no method ${method}.`
          : `${method}: ${error.message}`;
      return new CliError('ERR_CLUSTER', message, { cause: error });
    }
    default:
      return error.reason satisfies never;
  }
}
