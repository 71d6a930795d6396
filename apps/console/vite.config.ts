import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Address of a running service (`npm start`), for the development server. */
const service = process.env.FLYWHEEL_URL ?? 'http://127.0.0.1:4000';

export default defineConfig({
  plugins: [react(), tailwindcss(), precompress()],
  build: {
    target: 'es2024',
    // The page’s policy allows only files of its own origin: no data: URLs, no inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Our packages create schemas and codecs while their modules load. A bundler cannot know that this has no side effects.
      treeshake: { moduleSideEffects: (id) => !/\/packages\/\w[\w-]*\/src\//.test(id) },
    },
  },
  server: {
    // The proxy keeps the browser’s Host and Origin headers, which the service compares.
    proxy: { '/v1': service, '/console/api': service, '/docs': service, '/openapi.json': service },
  },
});

/** Fonts are already compressed. Files smaller than a packet gain nothing. */
const COMPRESSIBLE = /\.(js|css|html|svg)$/;
const MIN_COMPRESSED_BYTES = 1_024;

/** Writes `name.br` and `name.gz` beside `name`; the service sends them as they are. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    // Reads the written files, because other plugins may still change the bundle in memory.
    writeBundle: async ({ dir = '' }, bundle) => {
      await Promise.all(
        Object.keys(bundle)
          .filter((fileName) => COMPRESSIBLE.test(fileName))
          .map((fileName) => precompressFile(join(dir, fileName))),
      );
    },
  };
}

async function precompressFile(path: string): Promise<void> {
  const bytes = await readFile(path);
  if (bytes.length < MIN_COMPRESSED_BYTES) return;
  await Promise.all([
    promisify(brotliCompress)(bytes).then((compressed) => writeFile(`${path}.br`, compressed)),
    promisify(gzip)(bytes, { level: 9 }).then((compressed) => writeFile(`${path}.gz`, compressed)),
  ]);
}
