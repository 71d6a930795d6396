import { CONSOLE_OPERATIONS, describeShardFailure, type ProjectSummary, type ShardFailure } from '@flywheel/api';
import type { KeyPairSigner } from '@solana/kit';
import type { ConsoleClient } from './console-client.ts';
import { type Context, openConsole, type UrlOption } from './context.ts';

/**
 * Signs a wallet in at every shard of the service, so that a project and a batch answer wherever they are. It goes on without the
 * shards that do not answer, and notes them.
 * @throws FlywheelError if no shard answers.
 */
export async function signInEverywhere(
  context: Context,
  options: UrlOption,
  wallet: KeyPairSigner,
): Promise<ConsoleClient> {
  const console = openConsole(context, options);
  for (const failure of await console.signInEverywhere(wallet)) context.output.note(describeShardFailure(failure));
  return console;
}

export interface OwnProjects {
  readonly projects: readonly ProjectSummary[];
  /** A sentence about each shard whose projects are not listed, with a space before it. */
  readonly missing: string;
}

/** Lists the projects of the wallet that has signed in, of every shard. */
export async function listOwnProjects(console: ConsoleClient): Promise<OwnProjects> {
  const { answers, failures } = await console.callEach(CONSOLE_OPERATIONS.listProjects, {});
  return {
    projects: answers.flatMap(({ answer }) => answer.body.projects),
    missing: describeFailures(failures),
  };
}

/** Says why shards are missing, with a space before each sentence. */
export function describeFailures(failures: readonly ShardFailure[]): string {
  return failures.map((failure) => ` ${describeShardFailure(failure)}`).join('');
}
