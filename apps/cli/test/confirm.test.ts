import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { confirmEffect, confirmSigning } from '../src/confirm.ts';
import { CliError } from '../src/errors.ts';
import { interruptible } from '../src/interrupt.ts';
import { createOutput } from '../src/output.ts';
import { runCommand } from './run-command.ts';

interface Step {
  readonly words: readonly string[];
  /** Sentence that says the effect. */
  readonly effect: RegExp;
  /** Error of the first thing that the command does after its confirmation. */
  readonly next: string;
}

/** A file that does not exist: a command that goes on ends there. */
const WALLET = ['--wallet', 'no-such-wallet.json'];

const STEPS: readonly Step[] = [
  {
    words: ['keys', 'revoke', '--key', '0198a3d0', ...WALLET],
    effect: /Key 0198a3d0 stops working at once, .*; this cannot be undone\./,
    next: 'ERR_WALLET',
  },
  {
    words: ['webhooks', 'delete', '--webhook', '0198a3d1', ...WALLET],
    effect: /Webhook 0198a3d1 is deleted with its secret and all deliveries, .*; this cannot be undone\./,
    next: 'ERR_WALLET',
  },
  {
    words: ['company', 'pause', '--all', ...WALLET],
    effect: /No batch of any project is sent any more, until .* flywheel company resume --all\./,
    next: 'ERR_WALLET',
  },
  {
    words: ['move-project', randomUUID(), '--discard'],
    effect: /Project \S+ is deleted from the source, .*; this cannot be undone\./,
    next: 'ERR_CONFIGURATION',
  },
  {
    words: ['move-project', randomUUID(), '--destination-restored'],
    effect: /in another database already, both shards work on it\./,
    next: 'ERR_CONFIGURATION',
  },
];

describe('a question on a terminal', () => {
  for (const [keys, code, exitCode] of [
    ['\u0003', 'ERR_INTERRUPTED', 130],
    ['\u0004', 'ERR_USAGE', 2],
  ] as const) {
    it(`is answered by ${keys === '\u0003' ? 'Ctrl-C' : 'Ctrl-D'} with no, and without a stack`, async () => {
      const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true });
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      const output = createOutput({ json: false, stdout: new PassThrough(), stderr });
      const context = { environment: {}, output, stdin };
      const asked = confirmEffect(context, 'Everything ends.', { question: 'End it?' });
      stdin.write(keys);
      const error = await asked.catch((thrown: unknown) => thrown);
      assert.ok(error instanceof CliError, String(error));
      assert.match(error.message, /Nothing was changed\.$/);
      assert.deepEqual([error.code, output.fail(error)], [code, exitCode]);
    });
  }

  it('ends with the command that asks it', async () => {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const output = createOutput({ json: false, stdout: new PassThrough(), stderr: new PassThrough() });
    const asked = interruptible((signal) => {
      const confirmation = { question: 'Sign?', isConfirmed: false, option: '--yes', signal };
      return confirmSigning({ environment: {}, output, stdin }, [], confirmation);
    });
    process.emit('SIGTERM', 'SIGTERM');
    await assert.rejects(asked, (error) => output.fail(error) === 143);
  });

  it('is answered by the end of the input with no', async () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    terminal.end();
    const { exitCode, stderr } = await runCommand(STEPS[0]?.words ?? [], {}, terminal);
    assert.equal(exitCode, 2);
    assert.match(stderr, /Nothing was changed\./);
  });
});

describe('a step that cannot be undone', () => {
  for (const { words, effect, next } of STEPS) {
    const name = words[0] === 'move-project' ? `${words[0]} ${words.at(-1)}` : words.slice(0, 2).join(' ');

    it(`flywheel ${name} says its effect and is refused without a terminal, until --yes is passed`, async () => {
      const refused = await runCommand(words, {}, new PassThrough());
      assert.equal(refused.exitCode, 2);
      assert.match(refused.stderr, effect);
      assert.match(refused.stderr, /ERR_USAGE {2}Nothing was changed\. To do it without a terminal, pass --yes\./);
      const { exitCode, stderr } = await runCommand([...words, '--json'], {}, new PassThrough());
      const { error, message } = JSON.parse(stderr);
      assert.deepEqual([exitCode, error], [2, 'ERR_USAGE']);
      assert.match(message, effect);
      const confirmed = await runCommand([...words, '--yes'], {}, new PassThrough());
      assert.match(confirmed.stderr, new RegExp(next));
    });

    it(`flywheel ${name} asks on a terminal`, async () => {
      for (const [answer, says] of [
        ['no', 'ERR_USAGE  Nothing was changed.'],
        ['yes', next],
      ] as const) {
        const terminal = Object.assign(new PassThrough(), { isTTY: true });
        terminal.end(`${answer}\n`);
        const { stderr } = await runCommand(words, {}, terminal);
        assert.match(stderr, effect);
        assert.match(stderr, / Type yes: /);
        assert.ok(stderr.includes(says), stderr);
      }
    });
  }
});
