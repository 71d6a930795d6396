/** Reads JSON; an integer that a double cannot hold exactly becomes a bigint. @throws SyntaxError. */
export function parseJson(text: string): unknown {
  // Such an integer has at least sixteen digits; checking the source of every number takes five times as long.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  // Browsers before 2025 do not give the source; TypeScript's library does not describe it yet.
  return JSON.parse(text, (_key, member: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    const isLong = typeof member === 'number' && !Number.isSafeInteger(member);
    return isLong && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : member;
  });
}
