// Part of ECMAScript's JSON.parse source text access, which TypeScript's library does not describe yet.
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

/** Writes JSON in which a bigint is an integer with all its digits, because u64 amounts must not become doubles. */
export function stringifyJson(value: unknown): string {
  return write(value) ?? 'null';
}

/** Writes one value; undefined for values that JSON omits. A replacer for JSON.stringify would take twice as long. */
function write(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((member) => write(member) ?? 'null').join()}]`;
  let members = '';
  for (const [name, member] of Object.entries(value)) {
    const text = write(member);
    if (text !== undefined) members += `${members && ','}${JSON.stringify(name)}:${text}`;
  }
  return `{${members}}`;
}

/** Reads JSON; an integer that a double cannot hold exactly becomes a bigint. @throws SyntaxError. */
export function parseJson(text: string): unknown {
  // Such an integer has at least sixteen digits; checking the source of every number takes five times as long.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, member, { source }) =>
    typeof member === 'number' && !Number.isSafeInteger(member) && source !== undefined && /^-?\d+$/.test(source)
      ? BigInt(source)
      : member,
  );
}
