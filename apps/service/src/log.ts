import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

/** JSON lines on stderr: stdout belongs to the ready line. Keys, cookies and signed transactions never get here. */
export function createLog(level: Config['logLevel']): Logger {
  return pino(
    { level, base: null, redact: ['*.apiKey', '*.signedTx', '*.token', '*.cookie', '*.authorization'] },
    pino.destination(2),
  );
}
