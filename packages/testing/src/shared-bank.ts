import type { Localnet } from '@flywheel/localnet';
import { type Address, address } from '@solana/kit';
import { isClusterShared } from './cluster.ts';

/** A call of the console to its cluster. */
export interface BankCall {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly {
    readonly decimals?: number;
    readonly address?: string;
    readonly lamports?: number;
    readonly mint?: string;
    readonly amount?: string;
  }[];
}

/**
 * Returns a function that answers what only the local cluster gives away, from the bank of the cluster that all tests share;
 * it returns null for every other call. Null if each world has a local cluster of its own.
 */
export function sharedBank({ bank }: Pick<Localnet, 'bank'>): ((call: BankCall) => Promise<object | null>) | null {
  if (!isClusterShared) return null;
  return async ({ id, method, params = [] }) => {
    const [{ decimals = 0, address: recipient, lamports, mint, amount = '0' } = {}] = params;
    switch (method) {
      case 'localnet_createMint':
        return { jsonrpc: '2.0', id, result: { mint: await bank.createMint(decimals, false) } };
      case 'localnet_fund': {
        const to: Address | null = recipient === undefined ? null : address(recipient);
        if (to === null) return { jsonrpc: '2.0', id, error: { code: -32_602, message: 'address: missing' } };
        if (lamports !== undefined) await bank.airdrop(to, BigInt(lamports));
        if (mint !== undefined) await bank.mintTo(address(mint), to, BigInt(amount));
        return { jsonrpc: '2.0', id, result: null };
      }
      default:
        return null;
    }
  };
}
