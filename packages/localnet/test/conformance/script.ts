import { accountCalls } from './calls/accounts.ts';
import type { Call } from './calls/call.ts';
import { chainCalls, historyCalls } from './calls/chain.ts';
import { malformedCalls, REQUESTS } from './calls/malformed.ts';
import { nullCalls } from './calls/nulls.ts';
import { airdropCalls, expiredCalls, submissionCalls } from './calls/submission.ts';
import { askMalformed, askNotifications } from './calls/subscriptions.ts';
import { callMethod, sendRequest, type Target } from './client.ts';
import { normalise } from './normalise.ts';
import { prepareWorld, type World } from './world.ts';

/** Normalised answers by the names of their calls. */
export type Answers = Readonly<Record<string, unknown>>;

/** Asks a new cluster everything, and normalises its answers. It takes a second, and minutes at 400 ms a slot. */
export async function askEverything(target: Target): Promise<Answers> {
  const world = await prepareWorld(target);
  const answers: Record<string, unknown> = {};
  const keep = (name: string, answer: unknown) => {
    if (name in answers) throw new Error(`Two calls have the name "${name}".`);
    answers[name] = answer;
  };
  const calls = [
    ...accountCalls(world),
    ...chainCalls(world),
    ...historyCalls(world),
    ...(await submissionCalls(world)),
    ...malformedCalls(),
    ...(await nullCalls(world)),
  ];
  for (const call of calls) keep(call.name, await answerOf(world, call));
  for (const { name, content, path = '/', init } of REQUESTS) {
    keep(name, normalise(await sendRequest(`${target.url}${path}`, content, init), world.roles));
  }
  const heard = { ...(await askMalformed(world)), ...(await askNotifications(world)) };
  for (const [name, answer] of Object.entries(heard)) keep(name, normalise(answer, world.roles));
  for (const call of [...airdropCalls(world), ...(await expiredCalls(world))])
    keep(call.name, await answerOf(world, call));
  return answers;
}

async function answerOf({ target, roles }: World, call: Call): Promise<unknown> {
  return normalise(await callMethod(target, call.method, call.params), roles, call);
}
