import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

/** Starts the service with a local cluster, and Vite’s development server with hot reload in front of it. */
async function develop(): Promise<void> {
  const service = spawn(process.execPath, [FLYWHEEL, 'start'], { stdio: ['ignore', 'pipe', 'inherit'] });
  // Ctrl-C in a terminal reaches both processes; a signal to this one alone must end both.
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
  process.stderr.write('The console, with hot reload:\n');
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
