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
