import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** A running service: `npm start`. */
const service = process.env.FLYWHEEL_URL ?? 'http://127.0.0.1:4000';

export default defineConfig({
  plugins: [react(), tailwindcss(), precompress()],
  build: {
    target: 'es2024',
    // The page may load nothing but files of its own origin: neither data: URLs nor inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Schemas and codecs are made while their modules load, which no bundler can know to be free of side effects.
      treeshake: { moduleSideEffects: (id) => !/\/(api|sdk)\/src\//.test(id) },
    },
  },
  server: {
    // The service answers only requests that name it: the proxy keeps the browser's own host and origin.
    proxy: { '/v1': service, '/console/api': service, '/docs': service, '/openapi.json': service },
  },
});

/** Text compresses; fonts are compressed already, and what is smaller than a packet gains nothing. */
const COMPRESSIBLE = /\.(js|css|html|svg)$/;
const MIN_COMPRESSED_BYTES = 1_024;

/** Writes `name.br` and `name.gz` beside `name`, for the service to send as they are. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    // The files as they were written: others still work on them while the bundle is generated.
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
