import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { noBrowser, SIZES } from '@flywheel/testing/browser';
import { airdropPipeline, init, send } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { generateKeyPairSigner } from '@solana/kit';
import type { Page } from 'playwright-core';
import { checkScreenOnBoth, type Person, type Story, tellStory } from './story.ts';

/** The most base units that a token account holds, u64, with and without decimals. */
const LARGEST = [
  { decimals: 0, whole: '18,446,744,073,709,551,615', parts: ['18446744073709500000', '51615'] },
  { decimals: 18, whole: '18.446744073709551615', parts: ['18.4467440737095', '0.000000000000051615'] },
] as const;
const MANY = 1_000;

describe('the console, at the limits of what it shows', { skip: noBrowser }, () => {
  let world: GatedWorld;
  let story: Story;
  let person: Person;
  before(async () => {
    world = await openGatedWorld();
    story = tellStory(world);
    person = await story.visit({ colorScheme: 'dark' });
  });
  after(() => story.stop());

  for (const { decimals, whole, parts } of LARGEST) {
    it(`shows each digit of the largest amounts of a token with ${decimals} decimals`, async () => {
      const limit = whole.replaceAll(',', '');
      const project = await createProject(world, {
        decimals,
        vaultBaseUnits: 2n ** 64n - 1n,
        burnLimit: limit,
        airdropLimit: limit,
      });
      const { page } = await signedIn(project);
      const batchId = await initLargest(project, parts);
      await page.goto(`/p/${project.projectId}`);
      await page.getByText(`of ${whole}`).first().waitFor();
      await page.getByText(`limit is used up: ${whole} of ${whole} tokens`).first().waitFor();
      await checkScreenOnBoth(person, `largest-${decimals}-overview`);
      await page.goto(`/p/${project.projectId}/batches`);
      await page.getByText(whole).first().waitFor();
      await checkScreenOnBoth(person, `largest-${decimals}-batches`);
      await page.goto(`/p/${project.projectId}/batches/${batchId}`);
      await page.getByText('To burn').waitFor();
      await page.getByText(whole).first().waitFor();
      await checkScreenOnBoth(person, `largest-${decimals}-batch`);
      await page.goto(`/p/${project.projectId}/vault`);
      await page.getByText(whole).first().waitFor();
      await checkScreenOnBoth(person, `largest-${decimals}-vault`);
      await page.setViewportSize(SIZES.phone);
      const broken =
        await page.evaluate(`[...document.querySelectorAll('table[aria-label="Vault balance"] span.tabular')]
        .filter((it) => it.offsetHeight > 2 * parseFloat(getComputedStyle(it).fontSize)).map((it) => it.textContent)`);
      assert.deepEqual(broken, []);
    });
  }

  it(`shows and searches ${MANY} pipelines`, async () => {
    const project = await createProject(world);
    const { page } = await signedIn(project);
    const recipient = (await generateKeyPairSigner()).address;
    // Nothing is set up: the screen is what is tested.
    const hold = world.gate.hold('sendBundle');
    const pipelines = Array.from({ length: MANY }, (_, i) => ({
      ...airdropPipeline(recipient, i + 1),
      payload: `{"n":${i}}`,
    }));
    const { batch } = requireOk(await init(world.url, project.apiKey, pipelines));
    await page.goto(`/p/${project.projectId}/batches/${batch.id}`);
    const list = page.getByRole('region', { name: 'Pipelines' });
    const first = list.getByRole('button', { name: 'Pipeline 0 WATCH_AD' });
    await first.waitFor();
    assert.ok((await list.getByRole('article').count()) < 100, 'the list is not virtual');
    await checkScreenOnBoth(person, 'many-pipelines');
    for (const size of ['phone', 'desktop'] as const) {
      await page.setViewportSize(SIZES[size]);
      await scrollsByKeys(page);
    }
    await page.getByLabel('Search pipelines').fill('777');
    await list.getByRole('button', { name: 'Pipeline 777 WATCH_AD' }).waitFor();
    // The pipeline at this position, and the one that airdrops as many tokens.
    await list.getByRole('button', { name: 'Pipeline 776 WATCH_AD' }).waitFor();
    await first.waitFor({ state: 'detached' });
    await checkScreenOnBoth(person, 'many-pipelines-search');
    const path = `/v1/flywheel/batch/${batch.id}/cancel`;
    const cancelled = await send(world.url, 'POST', path, { key: project.apiKey, body: {} });
    // 202 on a busy machine: the cancel is accepted, and the setup ends later.
    assert.ok([200, 202].includes(cancelled.status));
    hold.release();
  });

  /** Gives the browser the session of a project's wallet. */
  async function signedIn({ cookie }: TestProject): Promise<Person> {
    const cookies = cookie.split('; ').map((each) => {
      const [name = '', value = ''] = each.split('=', 2);
      return { name, value, url: world.url };
    });
    await person.visit.context.addCookies(cookies);
    return person;
  }

  /** Burns and airdrops the largest amount, each in two parts: one number in JSON has at most 15 digits. */
  async function initLargest({ apiKey }: TestProject, parts: readonly string[]): Promise<string> {
    const { address } = await generateKeyPairSigner();
    const actions = parts.flatMap((amount) => [
      `{"action":"BURN","amount":${amount}}`,
      `{"action":"AIRDROP","toAddress":"${address}","amount":${amount}}`,
    ]);
    const text = `{"pipelines":[{"type":"PURCHASE","payload":"{}","actions":[${actions}]}]}`;
    const headers = { 'x-idempotency-key': crypto.randomUUID() };
    const answer = await send(world.url, 'POST', '/v1/flywheel/batch/init', { key: apiKey, headers, text });
    return requireOk(answer).batch.id;
  }
});

/** Asserts that keys reach both ends of the list, also from a row that leaves the DOM meanwhile. */
async function scrollsByKeys(page: Page): Promise<void> {
  const seen = (position: number) =>
    waitUntil(
      `pipeline ${position} in view`,
      () =>
        page.evaluate<boolean>(`(() => {
          const list = document.querySelector('section[aria-label=Pipelines]').getBoundingClientRect();
          const row = document.querySelector('li[aria-posinset="${position + 1}"]')?.getBoundingClientRect();
          return row !== undefined && row.top >= list.top - 1 && row.bottom <= list.bottom + 1;
        })()`),
      Boolean,
    );
  await page.getByRole('button', { name: 'Pipeline 0 WATCH_AD' }).focus();
  await page.keyboard.press('End');
  await seen(MANY - 1);
  await page.keyboard.press('PageUp');
  await page.keyboard.press('PageDown');
  await seen(MANY - 1);
  await page.keyboard.press('Home');
  await seen(0);
}
