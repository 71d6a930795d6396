import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** A running service: `npm start`. */
const service = process.env.FLYWHEEL_URL ?? 'http://127.0.0.1:4000';

export default defineConfig({
  plugins: [react(), tailwindcss()],
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
    proxy: { '/v1': service, '/console/api': service },
  },
});
