import { type Address, createSolanaRpc, getBase64Encoder, type ReadonlyUint8Array } from '@solana/kit';

export interface ChainAccount {
  readonly address: Address;
  readonly owner: Address;
  readonly lamports: bigint;
  readonly data: ReadonlyUint8Array;
}

/** What getMultipleAccounts takes at most (Agave, MAX_MULTIPLE_ACCOUNTS). */
const MAX_ACCOUNTS_A_CALL = 100;

/** Accounts as the cluster has them, confirmed, read over this client’s own connection; null where there is none. */
export async function readAccounts(rpcUrl: string, addresses: readonly Address[]): Promise<(ChainAccount | null)[]> {
  const rpc = createSolanaRpc(rpcUrl);
  const pages = Array.from({ length: Math.ceil(addresses.length / MAX_ACCOUNTS_A_CALL) }, (_, page) =>
    addresses.slice(page * MAX_ACCOUNTS_A_CALL, (page + 1) * MAX_ACCOUNTS_A_CALL),
  );
  const read = await Promise.all(
    pages.map(async (page) => {
      const { value } = await rpc.getMultipleAccounts(page, { encoding: 'base64', commitment: 'confirmed' }).send();
      return page.map((address, i) => {
        const account = value[i];
        if (!account) return null;
        const data = getBase64Encoder().encode(account.data[0]);
        return { address, owner: account.owner, lamports: account.lamports, data };
      });
    }),
  );
  return read.flat();
}
