import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { styleText } from 'node:util';
import type { AuditEntry } from '@flywheel/api';
import { readAirdropCsv } from '@flywheel/protocol/airdrop-csv';
import { FlywheelError } from '@flywheel/sdk';
import { describeAuditLog } from '../src/audit-log.ts';
import { CliError } from '../src/errors.ts';
import { layOutPairs, layOutTable } from '../src/format.ts';
import { createOutput } from '../src/output.ts';
import { createProgress, createProgressBar } from '../src/progress.ts';

/** Clears the screen, rings, hides what follows by the one-byte CSI, turns the direction, and begins a line. */
const HOSTILE = 'a\u001B[2J\u0007\u009B8m\u202Eb\u2028c';
const SHOWN = 'a\uFFFD[2J\uFFFD\uFFFD8m\uFFFDb\uFFFDc';

describe('foreign text on a terminal', () => {
  it('has no control characters in tables, pairs and the audit log', () => {
    const { stream } = open();
    assert.deepEqual(layOutTable(['NAME', 'X'], [[`${HOSTILE}\n`, '1']], stream).lines, [`${SHOWN}\uFFFD  1`]);
    assert.deepEqual(layOutPairs([['url', HOSTILE]], stream).map(plain), [`  url  ${SHOWN}`]);
    const entry = { at: '2026-11-26', action: 'a', actor: 'b', reason: HOSTILE } as unknown as AuditEntry;
    assert.ok(isVisible(describeAuditLog({ entries: [entry] }, stream)));
  });

  it('has none in the errors of the service and of a file’s rows, whose lines stay', () => {
    const { output, text } = open();
    output.fail(new FlywheelError({ code: 'ERR_INTERNAL', message: `No: ${HOSTILE}` }));
    assert.ok(text().includes(`No: ${SHOWN}`), text());
    const { issues } = readAirdropCsv(`${HOSTILE.replace('\u2028', '')},1\n`, { decimals: 6, duplicates: 'refuse' });
    output.fail(new CliError('ERR_FILE', `Nothing was sent.\n  ${issues[0]?.message}`));
    assert.match(plain(text()), /\n {2}.*a\uFFFD\[2J\uFFFD\uFFFD8m\uFFFDbc/);
    assert.ok(isVisible(text()), JSON.stringify(text()));
  });

  it('has none in results, notes and progress, which keep the styles of the command line', async () => {
    const { output, text, stream } = open();
    const style = styleText('red', '✗', { stream, validateStream: false });
    output.result({}, `${style} ${HOSTILE}`);
    output.note(HOSTILE);
    const bar = await createProgressBar(output);
    bar.show(0, HOSTILE);
    bar.note(HOSTILE);
    const progress = await createProgress(output, { pay: 'Pay' });
    progress.begin('pay', HOSTILE);
    progress.hold('pay', HOSTILE);
    progress.note(HOSTILE);
    progress.close();
    assert.ok(
      text().startsWith(`${style} ${SHOWN}\n${SHOWN}\n${SHOWN}\n${SHOWN}\n… Pay · ${SHOWN}\n${SHOWN}\n✗ Pay`),
      text(),
    );
    assert.ok(isVisible(text()), JSON.stringify(text()));
  });

  it('is escaped in JSON, which parses to what it was', () => {
    const { output, text } = open({ json: true });
    const document = { name: `${HOSTILE}\u{E0001}\u007F\u{1F525}` };
    output.result(document, '');
    assert.deepEqual(JSON.parse(text()), document);
    assert.ok(isVisible(text()), text());
    assert.match(text(), /\\u009b8m\\u202eb\\u2028c\\udb40\\udc01\\u007f\u{1F525}/u);
  });
});

function open({ json = false } = {}) {
  const chunks: string[] = [];
  const stream = new Writable({
    write: (chunk, _, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  return { output: createOutput({ json, stdout: stream, stderr: stream }), stream, text: () => chunks.join('') };
}

const STYLE = new RegExp(`${'\u001B'}\\[\\d+m`, 'g');

function plain(text: string): string {
  return text.replaceAll(STYLE, '');
}

function isVisible(text: string): boolean {
  return !/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u.test(plain(text));
}
