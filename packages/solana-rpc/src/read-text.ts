/**
 * Reads the text of an answer; null if it is larger than `MAX_ANSWER_BYTES`, of which no more is read then. An answer that has
 * no stream of the web's kind, as in React Native and in doubles of tests, is read whole.
 */
export async function readText(response: Response): Promise<string | null> {
  const reader = response.body?.getReader?.();
  if (!reader) return response.text();
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; ; ) {
    const { value } = await reader.read();
    if (value === undefined) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MAX_ANSWER_BYTES) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Bounds what a node or a service can make a client hold: 1.6 MB of gzip can be 1 GB of text. What a client asks for stays far
 * below: 1,000 signatures or 10,000 token accounts take a few megabytes.
 */
export const MAX_ANSWER_BYTES = 64 * 1_024 * 1_024;
