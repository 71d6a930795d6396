import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

/** The service with a cluster of its own, and the console before it, which takes up every change at once. */
async function develop(): Promise<void> {
  const service = spawn(process.execPath, [FLYWHEEL, 'start'], { stdio: ['ignore', 'pipe', 'inherit'] });
  // Ctrl-C reaches both of us from a terminal; who ends this process alone means both.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => service.kill(signal));
  const ended = once(service, 'exit');
  const url = await Promise.race([once(createInterface(service.stdout), 'line').then(urlOf), ended.then(() => null)]);
  if (url === null) {
    process.exitCode = 1;
    return;
  }
  process.env.FLYWHEEL_URL = url;
  const console = await createServer({ root: fileURLToPath(new URL('./', import.meta.url)), clearScreen: false });
  await console.listen();
  process.stderr.write('The console, as it is being written:\n');
  console.printUrls();
  const [code] = await ended;
  await console.close();
  process.exitCode = code ?? 0;
}

const FLYWHEEL = fileURLToPath(new URL('../cli/bin/flywheel.js', import.meta.url));

function urlOf([line]: unknown[]): string {
  const { url }: { url: string } = JSON.parse(String(line));
  return url;
}

await develop();
