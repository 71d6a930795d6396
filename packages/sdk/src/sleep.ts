/** Resolves after so many milliseconds. @throws the signal’s reason when aborted. */
export function sleep(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, waitMs);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
