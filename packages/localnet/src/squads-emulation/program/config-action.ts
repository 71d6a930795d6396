import {
  type Address,
  type Codec,
  getAddressCodec,
  getDiscriminatedUnionCodec,
  getStructCodec,
  getU8Codec,
  getU16Codec,
  getU32Codec,
  getU64Codec,
  getUnitCodec,
} from '@solana/kit';
import { listCodec, optionCodec } from './borsh.ts';
import { type Member, memberCodec } from './member.ts';

/** One change of a multisig’s configuration, as a config transaction stores it. */
export type ConfigAction =
  | { readonly __kind: 'addMember'; readonly newMember: Member }
  | { readonly __kind: 'removeMember'; readonly oldMember: Address }
  | { readonly __kind: 'changeThreshold'; readonly newThreshold: number }
  | { readonly __kind: 'setTimeLock'; readonly newTimeLockSeconds: number }
  | {
      readonly __kind: 'addSpendingLimit';
      readonly createKey: Address;
      readonly vaultIndex: number;
      readonly mint: Address;
      readonly amount: bigint;
      readonly period: SpendingPeriod;
      readonly members: Address[];
      readonly destinations: Address[];
    }
  | { readonly __kind: 'removeSpendingLimit'; readonly spendingLimit: Address }
  | { readonly __kind: 'setRentCollector'; readonly newRentCollector: Address | null };

type SpendingPeriod = { readonly __kind: 'oneTime' | 'day' | 'week' | 'month' };

const periodCodec: Codec<SpendingPeriod> = getDiscriminatedUnionCodec([
  ['oneTime', getUnitCodec()],
  ['day', getUnitCodec()],
  ['week', getUnitCodec()],
  ['month', getUnitCodec()],
]);

/** In the order of the program’s own enumeration. */
export const configActionCodec: Codec<ConfigAction> = getDiscriminatedUnionCodec([
  ['addMember', getStructCodec([['newMember', memberCodec()]])],
  ['removeMember', getStructCodec([['oldMember', getAddressCodec()]])],
  ['changeThreshold', getStructCodec([['newThreshold', getU16Codec()]])],
  ['setTimeLock', getStructCodec([['newTimeLockSeconds', getU32Codec()]])],
  [
    'addSpendingLimit',
    getStructCodec([
      ['createKey', getAddressCodec()],
      ['vaultIndex', getU8Codec()],
      ['mint', getAddressCodec()],
      ['amount', getU64Codec()],
      ['period', periodCodec],
      ['members', listCodec(getAddressCodec())],
      ['destinations', listCodec(getAddressCodec())],
    ]),
  ],
  ['removeSpendingLimit', getStructCodec([['spendingLimit', getAddressCodec()]])],
  ['setRentCollector', getStructCodec([['newRentCollector', optionCodec(getAddressCodec())]])],
]);
