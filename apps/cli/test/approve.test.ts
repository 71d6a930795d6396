import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Batch, BatchProgress, InitBatchResponse } from '@flywheel/api';
import { createFlywheelClient, signApproval } from '@flywheel/sdk';
import { waitUntil } from '@flywheel/testing/batches';
import { createSolanaRpc } from '@solana/kit';
import { type CliProject, openCliProject } from './cli-project.ts';
import { type LyingService, openLyingService } from './lying-service.ts';
import { runCommand } from './run-command.ts';

const REQUEST = { pipelines: [{ type: 'SALE', payload: '{"order":1}', actions: [{ action: 'BURN', amount: 2 }] }] };
const LIMITS = ['--burn-limit', '100', '--airdrop-limit', '0', '--scopes', 'burn'];
const PROGRESS = /\/progress$/;
const LACK = { message: 'The vault holds too little.', remedy: 'Deposit 2 tokens.', isFinal: false };

describe('flywheel approve', () => {
  let world: CliProject;
  let lying: LyingService;
  let batch: Batch;
  before(async () => {
    world = await openCliProject({ terms: LIMITS, tokens: '500' });
    lying = await openLyingService({ url: world.service.url, rpc: createSolanaRpc(world.service.rpcUrl) });
  });
  after(async () => {
    lying?.stop();
    await world?.stop();
  });

  /** Creates a batch, and waits until it is set up. */
  async function setUp(): Promise<void> {
    const file = await world.folder.write('request.json', JSON.stringify(REQUEST));
    const { batch: created } = await world.run<InitBatchResponse>('init', file);
    const read = () => world.run<Batch>('status', created.id);
    batch = await waitUntil('the setup', read, ({ status }) => status === 'FINALIZED');
  }

  /** Changes what the service says of the batch's progress, by the number of the question. */
  function changeProgress(change: (progress: BatchProgress, question: number) => Promise<object> | object): void {
    let question = 0;
    lying.tell({
      path: PROGRESS,
      change: async (answer) => {
        question += 1;
        return JSON.stringify(await change(JSON.parse(answer), question));
      },
    });
  }

  /** Approves what the chain holds, whatever that is. */
  async function approve(...options: readonly string[]) {
    const env = { ...world.env, FLYWHEEL_URL: lying.url };
    const { stderr } = await runCommand(['approve', batch.id, ...world.who], { ...world.env });
    const [, content] = /--content ([0-9a-f]{64})\./.exec(stderr) ?? [];
    const confirmation = content === undefined ? [] : ['--content', content];
    return runCommand(['approve', batch.id, ...world.who, ...confirmation, ...options], env);
  }

  it('follows a batch that an interrupted approve has submitted, and says once what holds it up', async () => {
    await setUp();
    const { apiKey, company } = { ...world.project, company: 'trust-service' } as const;
    const client = createFlywheelClient({ url: world.service.url, apiKey });
    const { proposalApproveTx = '' } = await client.getBatch(batch.id, { include: ['approval'] });
    const signedTx = await signApproval(proposalApproveTx, world.wallet.signer, { ...batch, company });
    // Nothing lands meanwhile.
    await world.run('localnet', 'pause-slots');
    await client.executeBatch({ batchId: batch.id, signedTx }, { waitSeconds: 0 });
    changeProgress(async (progress, question) => {
      if (question === 4) await world.run('localnet', 'resume-slots');
      return question < 4 ? { ...progress, failure: LACK } : progress;
    });
    const env = { ...world.env, FLYWHEEL_URL: lying.url };
    const { exitCode, stdout, stderr } = await runCommand(['approve', batch.id, ...world.who], env);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^● EXECUTED/);
    assert.deepEqual(stderr.match(/^Held up: .*$/gm), ['Held up: The vault holds too little. Deposit 2 tokens.']);
  });

  it('fails with the issue for which the service has given the batch back, and continues with the same line', async () => {
    await setUp();
    const failure = { ...LACK, code: 'ERR_VAULT_UNDERFUNDED' };
    changeProgress((progress, question) =>
      question === 1 ? progress : { ...progress, waitsFor: 'wallet', failure, batch },
    );
    const released = await approve();
    assert.equal(released.exitCode, 1, released.stdout);
    const continues = `Deposit 2 tokens. Continue with flywheel approve ${batch.id}.`;
    assert.match(released.stderr, new RegExp(`✗ ERR_VAULT_UNDERFUNDED  The vault holds too little. ${continues}`));
    lying.tell(null);
    assert.match((await approve()).stdout, /^● EXECUTED/);
  });
});
