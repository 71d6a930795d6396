import { ADDRESS_BYTES, encodeBase58 } from '@flywheel/protocol';
import type { Address } from '@solana/kit';

/** Reads a transaction's bytes in sequence. Each read throws RangeError if the bytes end too early. */
export interface ByteReader {
  offset(): number;
  u8(): number;
  u16(): number;
  u32(): number;
  u64(): bigint;
  bytes(count: number): Uint8Array;
  address(): Address;
  /**
   * Reads a length of one to three groups of seven bits.
   * @throws RangeError if it is not in its shortest form.
   */
  shortU16(): number;
  atEnd(): boolean;
}

export function createByteReader(source: Uint8Array): ByteReader {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  let offset = 0;
  const take = (count: number): number => {
    const start = offset;
    if (start + count > source.length) {
      throw new RangeError(`${count} bytes expected at ${start}, ${source.length - start} left`);
    }
    offset += count;
    return start;
  };
  const u8 = () => view.getUint8(take(1));
  return {
    offset: () => offset,
    u8,
    u16: () => view.getUint16(take(2), true),
    u32: () => view.getUint32(take(4), true),
    u64: () => view.getBigUint64(take(8), true),
    bytes: (count) => source.subarray(take(count), offset),
    address: () => encodeBase58(source.subarray(take(ADDRESS_BYTES), offset)) as Address, // 32 bytes
    shortU16: () => {
      let value = 0;
      for (let group = 0; group < 3; group++) {
        const byte = u8();
        value |= (byte & 0x7f) << (7 * group);
        if (byte >= 0x80) continue;
        if ((byte === 0 && group > 0) || value > 0xffff) break;
        return value;
      }
      throw new RangeError(`malformed length before ${offset}`);
    },
    atEnd: () => offset === source.length,
  };
}
