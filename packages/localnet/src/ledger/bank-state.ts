import type { Address, EncodedAccount, MaybeEncodedAccount } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { addressKey, decodeAccount, holdAccount } from './svm-accounts.ts';
import type { Versions } from './versions.ts';

/** The accounts in the bank of a slot. */
export interface BankState {
  readonly slot: bigint;
  readonly account: (address: Address) => MaybeEncodedAccount;
  /** Lists a program's accounts in the order of their addresses. */
  programAccounts(program: Address): EncodedAccount[];
}

/** Reads the accounts in the bank of a slot: the newest versions without the writes of later slots. */
export function readBank(
  { svm, versions }: { readonly svm: LiteSVM; readonly versions: Versions },
  slot: bigint,
): BankState {
  const account = (address: Address) =>
    decodeAccount(address, versions.earlier(slot, address) ?? holdAccount(svm, addressKey(address)));
  return {
    slot,
    account,
    programAccounts: (program) => {
      const changed = versions.changedAfter(slot);
      const earlier = Array.from(changed, account).filter(
        (known): known is Extract<typeof known, { exists: true }> => known.exists && known.programAddress === program,
      );
      const unchanged = svm.getProgramAccounts(program).filter(({ address }) => !changed.has(address));
      return [...unchanged, ...earlier].sort((a, b) => (sortKey(a.address) < sortKey(b.address) ? -1 : 1));
    },
  };
}

/** The alphabet of base58 is in the order of ASCII, so texts of one length are in the order of their bytes. */
function sortKey(address: Address): string {
  return address.padStart(MAX_ADDRESS_LENGTH, '1');
}

const MAX_ADDRESS_LENGTH = 44;
