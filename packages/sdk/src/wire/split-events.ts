/**
 * The `data` of each event of a stream (HTML, “Server-sent events”), comments and other fields left out.
 * @param onHeard told of every piece that arrives, comments too
 */
export async function* splitEvents(
  body: ReadableStream<Uint8Array>,
  onHeard: () => void,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onHeard();
      const blocks = (rest + decoder.decode(value, { stream: true })).split(END_OF_EVENT);
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const text = textOf(block);
        if (text !== '') yield text;
      }
    }
  } finally {
    // Whoever stops listening is not sent to any more. A stream that failed has nothing to cancel, and said why above.
    await reader.cancel().catch(() => undefined);
  }
}

const END_OF_EVENT = /\r?\n\r?\n/;

function textOf(block: string): string {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n');
}
