import { type Address, type Codec, getAddressCodec, getStructCodec, getU8Codec } from '@solana/kit';

export interface Member {
  readonly address: Address;
  /** Sum of `permission` bits. */
  readonly permissions: number;
}

/** A member as accounts and instructions hold it: address, then permissions. */
export function memberCodec(): Codec<Member> {
  return getStructCodec([
    ['address', getAddressCodec()],
    ['permissions', getU8Codec()],
  ]);
}
