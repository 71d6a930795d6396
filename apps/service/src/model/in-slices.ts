/** A request for something else waits for one slice of each large batch at most. */
const SLICE_MS = 4;

/**
 * Maps a list like `map`, and lets the thread answer others after every few milliseconds: the thousand pipelines of a large
 * batch take longer together than other requests should wait. If an item throws, those after it are not mapped.
 */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let until = performance.now() + SLICE_MS;
  for (const [index, item] of items.entries()) {
    if (performance.now() >= until) {
      await answerOthers();
      until = performance.now() + SLICE_MS;
    }
    results.push(map(item, index));
  }
  return results;
}

/** Lets the thread handle all input that has arrived. */
export async function answerOthers(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
