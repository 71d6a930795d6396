import { after, before, describe, it } from 'node:test';
import { burnPipeline } from '../../../service/test/client.ts';
import { noBrowser } from '../browser.ts';
import { approve, fund, initByApi, look, openApproval, openStory, register, type Story, signIn } from './story.ts';

describe('the whole story in a browser', { skip: noBrowser }, () => {
  let story: Story;
  before(async () => {
    story = await openStory();
  });
  after(() => story.stop());

  for (const options of [
    { size: 'desktop', colorScheme: 'light' },
    { size: 'phone', colorScheme: 'dark' },
  ] as const) {
    it(`from signing in to a batch executed, ${options.size}, ${options.colorScheme}`, async () => {
      const person = await story.visit(options);
      const { page } = person;
      await look(person, 'home');
      await signIn(person);
      const project = await register(person, { onScreen: (name) => look(person, name) });
      await fund(person, project);
      const batchId = await initByApi(story, project, [burnPipeline(2), burnPipeline(3)]);
      await openApproval(person, project, batchId);
      await look(person, 'approve');
      await approve(person);
      await page.getByText('2 of 2 pipelines executed.').waitFor();
      await look(person, 'approved');
      await page.getByRole('link', { name: 'See what happened' }).click();
      await page.getByText('Rent returned').first().waitFor();
      await look(person, 'batch');
    });
  }
});
