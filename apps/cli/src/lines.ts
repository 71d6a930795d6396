/**
 * Splits NDJSON into its lines. Only a line feed ends one: `readline` also splits at U+2028 and U+2029, which may stand in the
 * text of JSON. A line is bytes, so that its reader can tell where text is damaged.
 */
export async function* splitLines(input: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      yield Buffer.concat([...parts, bytes.subarray(start, end)]);
      parts = [];
      start = end + 1;
    }
    if (start < bytes.length) parts.push(bytes.subarray(start));
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

const LINE_FEED = 0x0a;

/**
 * Reads bytes as UTF-8.
 * @throws TypeError for other bytes: replacing them would make another text, with another proof.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
