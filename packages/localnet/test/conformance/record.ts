/**
 * Records the answers of a validator: `node packages/localnet/test/conformance/record.ts http://127.0.0.1:8899`. It has to
 * be new, because the script makes its accounts itself, and the bank of the local cluster has to own its lamports:
 * `npm run agave` starts one. It takes about three minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { writeAnswers } from './answers.ts';
import { askEverything } from './script.ts';

/** Half of a slot. */
const PASS_MS = 200;

const { positionals } = parseArgs({ allowPositionals: true });
const url = new URL(positionals[0] ?? 'http://127.0.0.1:8899');
// A validator has its subscriptions at the port above.
const websocketUrl = positionals[1] ?? `ws://${url.hostname}:${Number(url.port) + 1}`;
const answers = await askEverything({ url: url.origin, websocketUrl, pass: () => sleep(PASS_MS) });
await writeAnswers(answers);
process.stdout.write(`${Object.keys(answers).length} answers are recorded.\n`);
