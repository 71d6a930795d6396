import { generateKeyPairSigner } from '@solana/kit';
import { type Answer, send } from '../client.ts';
import { signIn } from '../project.ts';
import { openWorld, type World } from '../world.ts';

/** A world whose console has someone of the company in it. */
export interface ConsoleWorld {
  readonly world: World;
  /** Session of a wallet that COMPANY_OPERATORS lists and that owns no project, as a Cookie header. */
  readonly companyCookie: string;
  /** One request to `/console/api`. */
  readonly ask: (method: string, path: string, cookie: string, body?: unknown) => Promise<Answer>;
}

export async function openConsoleWorld(environment: Readonly<Record<string, string>> = {}): Promise<ConsoleWorld> {
  const companyWallet = await generateKeyPairSigner();
  const world = await openWorld({ COMPANY_OPERATORS: companyWallet.address, ...environment });
  return {
    world,
    companyCookie: await signIn(world.url, companyWallet),
    ask: (method, path, cookie, body) =>
      send(world.url, method, `/console/api${path}`, {
        headers: { cookie, ...(method !== 'GET' && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body }),
      }),
  };
}
