import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

/** Writes JSON lines to stderr, because stdout carries the ready line. Keys, cookies and signed transactions are redacted. */
export function createLog(level: Config['logLevel']): Logger {
  return pino(
    { level, base: null, redact: ['*.apiKey', '*.signedTx', '*.token', '*.cookie', '*.authorization'] },
    pino.destination(2),
  );
}
