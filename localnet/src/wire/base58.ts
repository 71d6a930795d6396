const ALPHABET = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 'latin1');
const ZERO = 0x31; // the letter that stands for nothing: '1'
/** Five digits at a time: 58 ** 5 fits 32 bits, and multiplied by 2 ** 16 a double still holds it exactly. */
const LIMB_DIGITS = 5;
const LIMB = 58 ** LIMB_DIGITS;
/** Digits that a byte takes, rounded up: log(256) / log(58). */
const DIGITS_PER_BYTE = 1.366;
const NO_DIGIT = 0xff;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const [digit, letter] of ALPHABET.entries()) DIGITS[letter] = digit;

/**
 * Writes bytes in base58. Every address and signature that passes is written so, and kit's codec, which works digit by
 * digit, takes ten times as long.
 */
export function encodeBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  const limbs = new Uint32Array(Math.ceil(((bytes.length - zeros) * DIGITS_PER_BYTE) / LIMB_DIGITS) + 1);
  let used = 0;
  let at = zeros;
  while (at < bytes.length) {
    // Two bytes at a time, the odd one first.
    const wide = (bytes.length - at) % 2 === 0;
    const factor = wide ? 65_536 : 256;
    let carry = wide ? ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0) : (bytes[at] ?? 0);
    at += wide ? 2 : 1;
    for (let index = 0; index < used || carry > 0; index++) {
      const sum = (limbs[index] ?? 0) * factor + carry;
      carry = Math.floor(sum / LIMB);
      limbs[index] = sum - carry * LIMB;
      if (index === used) used += 1;
    }
  }
  return writeLetters(limbs.subarray(0, used), zeros);
}

/** Reads base58. null when a letter is none of its alphabet. */
export function decodeBase58(text: string): Uint8Array | null {
  let zeros = 0;
  while (zeros < text.length && text.charCodeAt(zeros) === ZERO) zeros += 1;
  // Words of 16 bits, the lowest first.
  const words = new Uint32Array(text.length - zeros);
  let used = 0;
  let at = zeros;
  while (at < text.length) {
    let carry = 0;
    let factor = 1;
    for (let count = (text.length - at) % LIMB_DIGITS || LIMB_DIGITS; count > 0; count--) {
      const digit = DIGITS[text.charCodeAt(at)] ?? NO_DIGIT;
      if (digit === NO_DIGIT) return null;
      carry = carry * 58 + digit;
      factor *= 58;
      at += 1;
    }
    for (let index = 0; index < used || carry > 0; index++) {
      const sum = (words[index] ?? 0) * factor + carry;
      carry = Math.floor(sum / 65_536);
      words[index] = sum % 65_536;
      if (index === used) used += 1;
    }
  }
  return writeBytes(words.subarray(0, used), zeros);
}

/** The digits of limbs, the lowest limb first, without leading zeros but those that are asked for. */
function writeLetters(limbs: Uint32Array, zeros: number): string {
  const letters = Buffer.allocUnsafe(zeros + limbs.length * LIMB_DIGITS);
  let at = letters.length;
  for (const [index, limb] of limbs.entries()) {
    let rest = limb;
    for (let digit = 0; digit < LIMB_DIGITS && (rest > 0 || index < limbs.length - 1); digit++) {
      const next = Math.floor(rest / 58);
      at -= 1;
      letters[at] = ALPHABET[rest - next * 58] ?? ZERO;
      rest = next;
    }
  }
  return letters.fill(ZERO, at - zeros, at).toString('latin1', at - zeros);
}

function writeBytes(words: Uint32Array, zeros: number): Uint8Array {
  const bytes = new Uint8Array(zeros + words.length * 2);
  let at = bytes.length;
  for (const word of words) {
    bytes[--at] = word & 0xff;
    bytes[--at] = word >> 8;
  }
  const isOdd = words.length > 0 && bytes[at] === 0;
  return bytes.subarray(at + (isOdd ? 1 : 0) - zeros);
}
