import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startLocalnet } from '@flywheel/localnet';

// A cluster in a process of its own, which shares its thread and memory with nothing else. It reports its port at
// start, its memory on request, and at the end the time that stopping took.
const began = performance.now();
const localnet = await startLocalnet({ stateDirectory: process.argv[2] ?? null, squadsProgram: 'emulation' });
setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

process.on('message', async (wish) => {
  if (wish === 'measure') {
    if (typeof collectGarbage === 'function') collectGarbage();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send?.({ rssBytes: rss, heapBytes: heapUsed + external, cpuMs: cpuMs() });
    return;
  }
  const stopping = performance.now();
  await localnet.stop();
  process.send?.({ stopMs: performance.now() - stopping }, () => process.disconnect());
});
process.send?.({ port: localnet.port, startMs: performance.now() - began });

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
