const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const ZERO = 0x31; // the letter for zero: '1'
/** Digits computed together: 58 ** 5 fits 31 bits, and a double holds it exactly when multiplied by 2 ** 16. */
const LIMB_DIGITS = 5;
const LIMB = 58 ** LIMB_DIGITS;
const WORD = 2 ** 16;
const NO_DIGIT = 0xff;
const LETTERS = /* @__PURE__ */ Uint8Array.from(ALPHABET, (letter) => letter.charCodeAt(0));
/** Value of each character as a digit. */
const DIGITS = /* @__PURE__ */ Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = ALPHABET.indexOf(String.fromCharCode(code));
  return digit < 0 ? NO_DIGIT : digit;
});

/**
 * Encodes bytes in base58, as every address and signature is. Kit's codec, which divides one large integer digit by digit,
 * takes several times as long (docs/decisions/0072-addresses-without-large-integers.md).
 */
export function encodeBase58(bytes: Uint8Array): string {
  const zeros = countZeros(bytes.length, (index) => bytes[index] === 0);
  // Lowest limb first.
  const limbs: number[] = [];
  let at = zeros;
  if ((bytes.length - at) % 2 === 1) multiplyAdd(limbs, LIMB, 1, bytes[at++] ?? 0);
  for (; at < bytes.length; at += 2) multiplyAdd(limbs, LIMB, WORD, ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
  return '1'.repeat(zeros) + lettersOf(limbs);
}

/** Decodes base58; null if a character is not in its alphabet. */
export function decodeBase58(text: string): Uint8Array | null {
  const zeros = countZeros(text.length, (index) => text.charCodeAt(index) === ZERO);
  const words: number[] = [];
  for (let at = zeros; at < text.length; ) {
    let value = 0;
    let factor = 1;
    for (let count = (text.length - at) % LIMB_DIGITS || LIMB_DIGITS; count > 0; count--) {
      const digit = DIGITS[text.charCodeAt(at)] ?? NO_DIGIT;
      if (digit === NO_DIGIT) return null;
      value = value * 58 + digit;
      factor *= 58;
      at += 1;
    }
    multiplyAdd(words, WORD, factor, value);
  }
  const bytes = new Uint8Array(zeros + words.length * 2);
  let start = bytes.length;
  for (const word of words) {
    bytes[start - 1] = word & 0xff;
    bytes[start - 2] = word >> 8;
    start -= 2;
  }
  const isHalf = words.length > 0 && bytes[start] === 0;
  return bytes.subarray(start + (isHalf ? 1 : 0) - zeros);
}

function lettersOf(limbs: readonly number[]): string {
  // A call takes its arguments from an array much faster than from a typed one.
  const letters = new Array<number>(limbs.length * LIMB_DIGITS);
  let start = letters.length;
  for (const limb of limbs) {
    let rest = limb;
    for (let digit = 0; digit < LIMB_DIGITS; digit++) {
      const next = (rest / 58) | 0;
      start -= 1;
      letters[start] = LETTERS[rest - next * 58] ?? ZERO;
      rest = next;
    }
  }
  while (start < letters.length && letters[start] === ZERO) start += 1;
  return String.fromCharCode(...letters.slice(start));
}

/** Multiplies a number, whose digits in some base are stored lowest first, and adds to it in place. */
function multiplyAdd(digits: number[], base: number, factor: number, summand: number): void {
  let carry = summand;
  for (let index = 0; index < digits.length; index++) {
    const sum = (digits[index] ?? 0) * factor + carry;
    carry = Math.floor(sum / base);
    digits[index] = sum - carry * base;
  }
  while (carry > 0) {
    digits.push(carry % base);
    carry = Math.floor(carry / base);
  }
}

function countZeros(length: number, isZero: (index: number) => boolean): number {
  let count = 0;
  while (count < length && isZero(count)) count += 1;
  return count;
}
