import { type Address, address, getBase64Encoder, type ReadonlyUint8Array } from '@solana/kit';
import { askRpc } from './rpc/ask-rpc.ts';
import { fieldOf, unexpectedAnswer } from './rpc/rpc-answer.ts';

export interface ChainAccount {
  readonly address: Address;
  readonly owner: Address;
  readonly data: ReadonlyUint8Array;
}

/** What getMultipleAccounts takes at most (Agave, MAX_MULTIPLE_ACCOUNTS). */
const MAX_ACCOUNTS_A_CALL = 100;

/**
 * Accounts as the cluster has them, confirmed, read over this client’s own connection; null where there is none.
 * @throws FlywheelError as `askRpc`.
 */
export async function readAccounts(rpcUrl: string, addresses: readonly Address[]): Promise<(ChainAccount | null)[]> {
  const pages = Array.from({ length: Math.ceil(addresses.length / MAX_ACCOUNTS_A_CALL) }, (_, page) =>
    addresses.slice(page * MAX_ACCOUNTS_A_CALL, (page + 1) * MAX_ACCOUNTS_A_CALL),
  );
  const read = await Promise.all(
    pages.map(async (page) => {
      const config = { encoding: 'base64', commitment: 'confirmed' };
      const value = fieldOf(await askRpc(rpcUrl, METHOD, [page, config]), 'value');
      return page.map((asked, i) => accountOf(asked, fieldOf(value, i)));
    }),
  );
  return read.flat();
}

const METHOD = 'getMultipleAccounts';

function accountOf(asked: Address, value: unknown): ChainAccount | null {
  if (value === null) return null;
  const [owner, data] = [fieldOf(value, 'owner'), fieldOf(fieldOf(value, 'data'), 0)];
  if (typeof owner !== 'string' || typeof data !== 'string') throw unexpectedAnswer(METHOD, value);
  return { address: asked, owner: address(owner), data: getBase64Encoder().encode(data) };
}
