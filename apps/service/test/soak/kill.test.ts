import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { it } from 'node:test';
import { seededRandom } from '@flywheel/localnet';
import { soakKills } from './kill.ts';

/** Number of kills; `npm run soak` raises it until a process dies at every step. */
const KILLS = Number(process.env.FLYWHEEL_SOAK_KILLS ?? 8);
const EVERY_STEP_KILLS = 100;
/** Number of stories that each project runs at least. */
const STORIES = Number(process.env.FLYWHEEL_SOAK_STORIES ?? (KILLS >= EVERY_STEP_KILLS ? 5 : 1));
const SEED = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));

/** Steps at which processes must have died at least once: each job type has these. */
const EXPECTED = [
  ...['setup', 'execute', 'close', 'refill-nonces'].flatMap((type) => [
    new RegExp(`^${type}: taken$`),
    new RegExp(`^${type}: before commit of .+ 1$`),
    new RegExp(`^${type}: after commit of .+ 1$`),
    new RegExp(`^${type}: before send.+ 1$`),
    new RegExp(`^${type}: after send.+ 1$`),
    new RegExp(`^${type}: done$`),
  ]),
  ...['cancel', 'expire'].flatMap((type) => [
    new RegExp(`^${type}: taken$`),
    new RegExp(`^${type}: before commit of .*batches.* 1$`),
    new RegExp(`^${type}: after commit of .*batches.* 1$`),
    new RegExp(`^${type}: done$`),
  ]),
];

it(`the service moves every token exactly once while ${KILLS} workers are killed`, async (test) => {
  test.diagnostic(`seed ${SEED}`);
  const everyStep = KILLS >= EVERY_STEP_KILLS;
  const size = everyStep ? { workers: 4, projects: 10 } : { workers: 2, projects: 5 };
  const began = Date.now();
  const { batches, atRandom, atSteps, modelCheck } = await soakKills({
    ...size,
    stories: STORIES,
    kills: KILLS,
    everyStep,
    random: seededRandom(SEED),
  });
  const atStepsCount = [...atSteps.values()].reduce((sum, times) => sum + times, 0);
  const seconds = Math.round((Date.now() - began) / 1_000);
  test.diagnostic(
    `${batches} batches in ${seconds} s; killed ${atRandom} at random, ${atStepsCount} at ${atSteps.size} steps`,
  );
  test.diagnostic(modelCheck);
  assert.ok(atRandom + atStepsCount >= KILLS);
  for (const expected of EXPECTED) {
    const names = [...atSteps.keys()].filter((name) => expected.test(name));
    assert.ok(names.length > 0, `no step ${expected} was seen: ${[...atSteps.keys()].join('; ')}`);
    if (everyStep) for (const name of names) assert.ok(atSteps.get(name), `no process died at ${name}`);
  }
  if (everyStep)
    assert.deepEqual(
      [...atSteps].filter(([, times]) => times === 0),
      [],
    );
});
