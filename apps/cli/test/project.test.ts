import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ProjectOverview, ProjectSettings, RegisteredProject } from '@flywheel/api';
import { parseDocument, runCommand } from './run-command.ts';
import { startTestService, type TestService } from './test-service.ts';
import { writeWallet } from './wallet-files.ts';

describe('flywheel project', () => {
  let service: TestService;
  let env: Record<string, string>;
  let walletFile: string;
  let mint: string;
  let project: RegisteredProject;

  before(async () => {
    service = await startTestService();
    env = { FLYWHEEL_URL: service.url, SOLANA_RPC_URL: service.rpcUrl };
    const { file, signer } = await writeWallet(service.folder);
    walletFile = file;
    await run('localnet', 'fund', signer.address, '--sol', '5');
    ({ mint } = await run<{ mint: string }>('localnet', 'create-token', '--decimals', '6'));
    const limits = ['--burn-limit', '100', '--airdrop-limit', '100', '--scopes', 'burn,airdrop'];
    const proofTypes = ['--proof-type', 'WATCH_AD:A rewarded video: watched', '--proof-type', 'REFERRAL'];
    project = await run('register', '--wallet', walletFile, '--mint', mint, ...limits, ...proofTypes);
  });
  after(() => service?.stop());

  async function run<Document>(...words: string[]): Promise<Document> {
    return parseDocument<Document>(await runCommand([...words, '--json'], env));
  }

  async function failure(...words: string[]): Promise<{ error: string; message: string }> {
    const { exitCode, stderr } = await runCommand([...words, '--json'], env);
    assert.notEqual(exitCode, 0);
    return JSON.parse(stderr);
  }

  it('show prints the vault’s balance and the rest of today’s limits', async () => {
    const found = await run<ProjectOverview>('project', 'show', '--wallet', walletFile);
    assert.equal(found.id, project.projectId, 'the wallet’s only project');
    assert.equal(found.limits.burn.cap, '100');
    const { stdout } = await runCommand(['project', 'show', '--wallet', walletFile], env);
    assert.match(stdout, new RegExp(`^Project ${project.projectId}\\n  token +${mint}\\n`));
    assert.match(stdout, /airdrop +\d+ of 100 tokens used today, \d+ left until /);
    assert.match(stdout, /holds +[\d.]+ tokens, [\d.]+ SOL\n/);
  });

  it('limits changes the named limit and prints both', async () => {
    const who = ['--wallet', walletFile, '--project', project.projectId];
    const changed = await run<ProjectSettings>('project', 'limits', ...who, '--airdrop', '12345.5');
    assert.deepEqual([changed.burnLimit, changed.airdropLimit], ['100', '12345.5']);
    const { stdout } = await runCommand(['project', 'limits', ...who, '--airdrop', '100'], env);
    assert.match(stdout, /^Changed\. Applies to new batches\.\n/);
    assert.match(stdout, /airdrop +100 tokens per UTC day \(was 12,345\.5\)/);
    assert.equal((await failure('project', 'limits', ...who, '--burn', 'many')).error, 'ERR_INVALID_REQUEST');
  });

  it('proof-types adds, removes and describes types, and empties the list only with --any', async () => {
    const types = ['project', 'proof-types', '--wallet', walletFile];
    const typesOf = ({ proofTypes }: ProjectSettings) => proofTypes.map(({ type }) => type);
    assert.deepEqual(typesOf(await run(...types)), ['REFERRAL', 'WATCH_AD']);
    const changed = await run<ProjectSettings>(...types, '--add', 'SEASON', '--remove', 'REFERRAL');
    assert.deepEqual(changed.proofTypes, [
      { type: 'SEASON' },
      { type: 'WATCH_AD', description: 'A rewarded video: watched' },
    ]);
    const last = await failure(...types, '--remove', 'WATCH_AD', '--remove', 'SEASON');
    assert.match(last.message, /Removing the last type would allow all types/);
    const unknown = await failure(...types, '--remove', 'LOTTERY');
    assert.match(unknown.message, /LOTTERY is not in the list of allowed types\. The list allows: SEASON, WATCH_AD\./);
    assert.deepEqual(typesOf(await run(...types, '--any')), []);
    assert.deepEqual(typesOf(await run(...types, '--add', 'WATCH_AD')), ['WATCH_AD']);
  });
});
