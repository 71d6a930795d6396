import { createReadStream } from 'node:fs';
import { type AuditEvents, readAuditEvents } from '@flywheel/sdk/audit-findings';
import { CliError } from '../../errors.ts';
import { decodeUtf8, splitLines } from '../../lines.ts';

/**
 * Reads a file of events, as `readAuditEvents`.
 * @throws CliError `ERR_FILE` with the number of a line that is not an event.
 */
export async function readEvents(path: string): Promise<AuditEvents> {
  const read = await readAuditEvents(textLines(path)).catch((cause: unknown) => {
    const message = `Cannot read ${path}. Expected events, one {"type": …, "payload": …} a line.`;
    throw new CliError('ERR_FILE', message, { cause });
  });
  if ('events' in read) return read.events;
  const place = `${path}:${read.invalidLine}`;
  throw new CliError('ERR_FILE', `${place} is not an event. Expected {"type": "…", "payload": "…"}.`);
}

async function* textLines(path: string): AsyncGenerator<string> {
  for await (const line of splitLines(createReadStream(path))) yield decodeUtf8(line);
}
