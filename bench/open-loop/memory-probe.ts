import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

// Loaded before a process of the service whose memory is measured: at SIGUSR2 it collects all garbage, returns free pages to the
// system, and writes what is left.
const { BENCH_MEMORY_DIRECTORY: directory = '' } = process.env;
const { gc: collectGarbage } = globalThis;

if (isMainThread && collectGarbage !== undefined) {
  process.on('SIGUSR2', async () => {
    // Any other collection keeps pages for objects to come, tens of megabytes more or less each time.
    collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { rss, heapUsed, external } = process.memoryUsage();
    const file = join(directory, String(process.pid));
    await writeFile(`${file}.new`, JSON.stringify({ rssBytes: rss, heapBytes: heapUsed + external }));
    await rename(`${file}.new`, file);
  });
}
