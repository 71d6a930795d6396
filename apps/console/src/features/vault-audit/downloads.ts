import { writeCsv } from '@flywheel/protocol/airdrop-csv';
import { auditDocument, type EventMatches, FINDING_COLUMNS, findingCells } from '@flywheel/sdk/audit-findings';
import { saveFile } from '../../lib/save-file.ts';
import { type EndedAudit, readFindings, type SavedAudit } from './saved-audits.ts';

/** Offers every finding as CSV, as `flywheel audit --csv` writes it. */
export async function saveCsv(audit: SavedAudit): Promise<void> {
  const lines = [writeCsv([FINDING_COLUMNS])];
  for await (const record of readFindings(audit)) lines.push(writeCsv([findingCells(record)]));
  saveFile(`audit-${audit.vault}.csv`, lines, 'text/csv');
}

/** Offers the result as JSON, as `flywheel audit --json` prints it. */
export function saveJson({
  report,
  ...found
}: EndedAudit & { readonly events: EventMatches | null; readonly node: string }): void {
  const text = `${JSON.stringify(auditDocument(report, found))}\n`;
  saveFile(`audit-${report.vault}.json`, [text], 'application/json');
}
