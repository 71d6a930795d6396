import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { noBrowser } from '@flywheel/testing/browser';
import { type Address, generateKeyPairSigner, signature } from '@solana/kit';
import {
  approve,
  BASE_UNITS,
  checkScreen,
  fund,
  openStory,
  type Person,
  type Registered,
  register,
  type Story,
  signIn,
  takeScreenshot,
  tokensOf,
  untilVerified,
} from './story.ts';

describe('an airdrop from a file', { skip: noBrowser, concurrency: 2 }, () => {
  let story: Story;
  let alice: Address;
  let bob: Address;
  before(async () => {
    story = await openStory();
    [alice, bob] = (await newAddresses(2)) as [Address, Address];
  });
  after(() => story.stop());

  for (const options of [
    { size: 'desktop', colorScheme: 'light' },
    { size: 'phone', colorScheme: 'dark' },
  ] as const) {
    describe(`on a ${options.size}, ${options.colorScheme}:`, { concurrency: 1 }, () => {
      let person: Person;
      let project: Registered;
      before(async () => {
        person = await story.visit(options);
        await signIn(person);
        project = await register(person, { airdropLimit: '500' });
        await fund(person, project);
      });

      it('names every invalid line of a file and cannot be reviewed', async () => {
        const { page } = person;
        const rows = [
          'address,amount',
          'nobody,1',
          `${alice},`,
          `${alice},-1`,
          `${alice},0.0000001`,
          `${bob},1,2`,
          `${bob},"1,5"`,
        ];
        await openFile(person, project, 'wrong.csv', rows);
        for (const text of [
          'Line 2: “nobody” is not a Solana address: enter 32 to 44 letters and digits.',
          'Line 3: The amount is missing',
          'Line 4: “-1” is not an amount',
          'Line 5: 0.0000001 has more fraction digits than the token’s 6.',
          'Line 6: The row has 3 cells',
          'Line 7: “1,5” is not an amount',
        ]) {
          await page.getByText(text).waitFor();
        }
        await page.getByText('6 lines have errors').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Review' }).isDisabled(), true);
        await checkScreen(person, 'csv-wrong');
      });

      it('says that a file cannot be read, and takes it when it can', async () => {
        const { page } = person;
        await page.goto(`/p/${project.projectId}/new`);
        await page.evaluate(`
          globalThis.readFile = Blob.prototype.arrayBuffer;
          Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException('It was removed.', 'NotReadableError'));
        `);
        await chooseFile(person, 'gone.csv', [`${alice},1`]);
        await page.getByRole('alert').getByText('The file could not be read: It was removed.').waitFor();
        await page.evaluate('Blob.prototype.arrayBuffer = globalThis.readFile');
        await chooseFile(person, 'back.csv', [`${alice},1`]);
        await page.getByText('1 recipient, 1 tokens').waitFor();
      });

      it('names the lines of a repeated address, and adds them up or treats them as an error', async () => {
        const { page } = person;
        await openFile(person, project, 'twice.csv', [`${alice},1`, `${bob},2`, `${alice},3.5`]);
        await page.getByText('1 address appears more than once').waitFor();
        await page.getByText('2 recipients, 6.5 tokens').waitFor();
        await page.getByText('lines 1, 3').waitFor();
        await checkScreen(person, 'csv-twice');
        const review = page.getByRole('button', { name: 'Review' });
        assert.equal(await review.isDisabled(), false);
        await page.getByRole('radio', { name: /^Treat as an error/ }).click();
        await page.getByText('Line 3: The address is already in line 1.').waitFor();
        assert.equal(await review.isDisabled(), true);
      });

      it('cannot be created from a file over the daily limit', async () => {
        const { page } = person;
        await openFile(person, project, 'too-much.csv', [`${alice},300`, `${bob},201`]);
        await page.getByRole('button', { name: 'Review' }).click();
        await page.getByText('Fix 1 issue first').waitFor();
        await checkScreen(person, 'csv-too-much');
        assert.equal(await page.getByRole('button', { name: 'Create the batch' }).isDisabled(), true);
      });

      it('is packed, approved and executed, and its receipt matches the chain', async () => {
        const { page } = person;
        const recipients = await newAddresses(30);
        const rows = recipients.map((recipient, position) => `${recipient},${position + 1}.25`);
        await openFile(person, project, 'good.csv', rows);
        await page.getByText('30 recipients, 472.5 tokens').waitFor();
        await checkScreen(person, 'csv-good');
        const review = page.getByRole('button', { name: 'Review' });
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 1_000);
        await page.getByLabel('Proof type').fill('SEASON_2');
        await page.getByText(/^Packing\./).waitFor();
        assert.equal(await review.isDisabled(), true, 'it was packed while the type is typed');
        await page.clock.resume();
        await page.getByText(/^Packed into/).waitFor();
        await review.click();
        await page
          .getByText(/^472\.5/)
          .first()
          .waitFor();
        await checkScreen(person, 'csv-review');
        await page.getByRole('button', { name: 'Create the batch' }).click();
        await untilVerified(person);
        await takeScreenshot(person, 'csv-approve');
        await approve(person);
        await page.getByText(/^(\d+) of \1 pipelines executed\.$/).waitFor();
        await page.getByRole('link', { name: 'View batch' }).click();
        await page.getByText('Rent returned').first().waitFor();
        await takeScreenshot(person, 'csv-batch');
        // The part of the page that writes the receipt is lost once; an aborted request is no complaint.
        await page.route(/\/assets\/receipt-[^/]+\.js$/, (route) => route.abort('aborted'), { times: 1 });
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Receipt' }).click(),
        ]);
        const receipt = (await text(await download.createReadStream())).trimEnd().split('\r\n').slice(1);
        assert.deepEqual(
          receipt.map((row) => row.split(',').slice(0, 2).join(',')),
          rows,
        );
        const signatures = [...new Set(receipt.map((row) => signature(row.split(',')[4] ?? '')))];
        const { value } = await story.world.rpc
          .getSignatureStatuses(signatures, { searchTransactionHistory: true })
          .send();
        assert.deepEqual(
          value.map((status) => status?.err),
          signatures.map(() => null),
        );
        for (const [position, recipient] of recipients.entries()) {
          const expected = BigInt(position + 1) * BASE_UNITS + BASE_UNITS / 4n;
          assert.equal(await tokensOf(story, project, recipient), expected, recipient);
        }
      });
    });
  }
});

async function openFile(
  person: Person,
  { projectId }: Registered,
  name: string,
  rows: readonly string[],
): Promise<void> {
  await person.page.goto(`/p/${projectId}/new`);
  await chooseFile(person, name, rows);
}

async function chooseFile({ page }: Person, name: string, rows: readonly string[]): Promise<void> {
  await page.getByRole('radio', { name: /^Airdrop from a file/ }).click();
  await page
    .getByLabel(/Drop a CSV file/)
    .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(`${rows.join('\n')}\n`) });
}

async function newAddresses(count: number): Promise<Address[]> {
  const signers = await Promise.all(Array.from({ length: count }, generateKeyPairSigner));
  return signers.map((signer) => signer.address);
}
