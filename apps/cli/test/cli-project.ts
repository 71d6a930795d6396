import type { RegisteredProject } from '@flywheel/api';
import type { KeyPairSigner } from '@solana/kit';
import { createChainReader } from '../src/commands/demo/chain-reader.ts';
import { parseDocument, runCommand } from './run-command.ts';
import { startTestService, type TestService } from './test-service.ts';
import { type TemporaryFolder, writeWallet } from './wallet-files.ts';

/** A project that commands have registered at a service of its own. */
export interface CliProject {
  readonly service: TestService;
  /** The service's folder, which `stop` removes. */
  readonly folder: TemporaryFolder;
  /** Environment of its commands, with the API key. */
  readonly env: Record<string, string>;
  readonly wallet: { readonly file: string; readonly signer: KeyPairSigner };
  readonly mint: string;
  readonly project: RegisteredProject;
  /** Options that name the wallet and the project. */
  readonly who: readonly string[];
  /** Runs a command with `--json` to its only document. @throws Error if it fails. */
  run<Document>(...words: readonly string[]): Promise<Document>;
  /** Runs a command that must fail, with `--json`. */
  failure(...words: readonly string[]): Promise<{ readonly error: string; readonly message: string }>;
  /** Base units of each wallet on chain; null without a token account. */
  balances(addresses: readonly string[]): Promise<(string | null)[]>;
  stop(): Promise<void>;
}

export interface CliProjectOptions {
  /** Options of `register` after wallet and mint. */
  readonly terms: readonly string[];
  /** Whole tokens of the vault, which then gets 2 SOL too; none by default. */
  readonly tokens?: string;
  /** Settings of the service. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts a service and registers a project there, with commands. The token has 6 decimals, the wallet 5 SOL. */
export async function openCliProject({ terms, tokens, settings = {} }: CliProjectOptions): Promise<CliProject> {
  const service = await startTestService(settings);
  const { folder } = service;
  const env: Record<string, string> = { FLYWHEEL_URL: service.url, SOLANA_RPC_URL: service.rpcUrl };

  async function run<Document>(...words: readonly string[]): Promise<Document> {
    return parseDocument<Document>(await runCommand([...words, '--json'], env));
  }

  try {
    const wallet = await writeWallet(folder);
    await run('localnet', 'fund', wallet.signer.address, '--sol', '5');
    const { mint } = await run<{ mint: string }>('localnet', 'create-token', '--decimals', '6');
    const project = await run<RegisteredProject>('register', '--wallet', wallet.file, '--mint', mint, ...terms);
    const { apiKey, projectId, vaultAddress: vault } = project;
    env.FLYWHEEL_API_KEY = apiKey;
    if (tokens !== undefined) await run('localnet', 'fund', vault, '--sol', '2', '--mint', mint, '--tokens', tokens);
    return {
      ...{ service, folder, env, wallet, mint, project, run },
      who: ['--wallet', wallet.file, '--project', projectId],
      failure: async (...words) => {
        const { exitCode, stderr } = await runCommand([...words, '--json'], env);
        if (exitCode === 0) throw new Error(`${words.join(' ')} succeeded.`);
        return JSON.parse(stderr);
      },
      balances: async (addresses) => {
        const reader = createChainReader(service.rpcUrl, { mint, vaultAddress: vault });
        const { balances } = await reader.readState(addresses);
        return addresses.map((address) => balances.get(address)?.toString() ?? null);
      },
      stop: () => service.stop(),
    };
  } catch (error) {
    // An open service keeps the process alive: the test would hang instead of failing.
    await service.stop();
    throw error;
  }
}
