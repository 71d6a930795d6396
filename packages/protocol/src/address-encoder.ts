import { type Address, createEncoder, type FixedSizeEncoder, getAddressEncoder } from '@solana/kit';

/**
 * Encodes addresses like kit's encoder, and caches the bytes. Base58 takes 14 µs per address, and a batch writes the
 * same dozen addresses hundreds of times: without the cache, an init would spend most of its time there.
 */
export const addressEncoder: FixedSizeEncoder<Address, 32> = /* @__PURE__ */ createEncoder({
  fixedSize: 32,
  write: (address, bytes, offset) => {
    bytes.set(bytesOf(address), offset);
    return offset + 32;
  },
});

/** More addresses than a full batch names; about 500 KiB. */
const MAX_CACHED = 4_096;

const cache = /* @__PURE__ */ new Map<Address, ArrayLike<number>>();

function bytesOf(address: Address): ArrayLike<number> {
  const known = cache.get(address);
  if (known) return known;
  const bytes = getAddressEncoder().encode(address);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(address, bytes);
  return bytes;
}
