import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { type Localnet, startLocalnet } from '@flywheel/localnet';
import { proofMemo } from '@flywheel/protocol';
import { writeCsv } from '@flywheel/protocol/airdrop-csv';
import { type AuditRecord, auditVault } from '@flywheel/sdk';
import { FINDING_COLUMNS, findingCells } from '@flywheel/sdk/audit-findings';
import { noBrowser, openVisit, type Visit } from '@flywheel/testing/browser';
import { openStranger } from '@flywheel/testing/stranger';
import { memoBy } from '@flywheel/testing/synthetic-vault';
import { awaitFinalized } from '@flywheel/testing/vault-history';
import { address, createNoopSigner, createSolanaRpc, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import type { Page } from 'playwright-core';
import { openSite, type Site } from '../open-site.ts';
import { checkScreen, checkScreenOnBoth, type Person } from './story.ts';

const EVENT = { type: 'WATCH_AD', payload: '{"adId":"1"}' };
const PHONE = { size: 'phone', colorScheme: 'dark' } as const;

describe('the audit of a vault in a browser', { skip: noBrowser }, () => {
  let localnet: Localnet;
  let site: Site;
  let honest: string;
  let dishonest: string;
  const visits: Visit[] = [];

  before(async () => {
    localnet = await startLocalnet({ slotMs: 50, finalizedLagSlots: 2 });
    const world = { localnet, rpc: createSolanaRpc(localnet.url) };
    const { address: destination } = await generateKeyPairSigner();
    const open = async (proofs: readonly (typeof EVENT | null)[]) => {
      const { vault, call } = await openStranger(world);
      const pay = getTransferSolInstruction({ source: createNoopSigner(vault), destination, amount: 2_000_000n });
      for (const proof of proofs) await call([...(proof ? [memoBy(vault, proofMemo(proof))] : []), pay]);
      return vault;
    };
    [honest, dishonest] = [await open([EVENT, { ...EVENT, payload: '{"adId":"2"}' }]), await open([EVENT, null])];
    await awaitFinalized(world);
    site = await openSite({
      readConnectUrls: async () => [localnet.url, localnet.websocketUrl],
      consoleHandlers: {
        getEnvironment: async ({ origin }) => ({
          status: 200,
          body: {
            ...{ cluster: 'localnet', isLocal: false, rpcUrl: localnet.url, webSocketUrl: localnet.websocketUrl },
            ...{ publicUrl: origin, explorer: { url: 'https://explorer.example', query: '' }, squadsProgram: 'x' },
          },
        }),
      },
    });
  });
  after(async () => {
    for (const visit of visits) await visit.close();
    await site?.close();
    await localnet?.stop();
  });

  async function visit(options: Person['options'] = {}): Promise<Person> {
    const opened = await openVisit(site.server.url, options);
    visits.push(opened);
    return { page: opened.page, visit: opened, options };
  }

  it('explains all that an honest vault did, and asks the service for nothing but its environment', async () => {
    const person = await visit();
    const { page } = person;
    const asked = new Set<string>();
    page.on('request', (request) => asked.add(new URL(request.url()).origin + new URL(request.url()).pathname));
    await page.goto(`/audit/${honest}`);
    await page.getByText('No audit yet').waitFor();
    await checkScreenOnBoth(person, 'audit-empty');
    assert.equal(await page.getByLabel('RPC node').inputValue(), localnet.url);
    await page.getByLabel('From', { exact: true }).fill('yesterday');
    await page.getByText('Enter a day like 2026-01-31').waitFor();
    assert.ok(await auditButton(page).isDisabled());
    await page.getByLabel('From', { exact: true }).fill('0');
    await auditButton(page).click();
    await verdict(page, 'Explained');
    await page.getByText('No outflow without a proof was found.').waitFor();
    await page.getByText(new RegExp(`Read from ${new URL(localnet.url).host} up to slot [\\d,]+, `)).waitFor();
    await page.getByText('−0.004').waitFor();
    await checkScreenOnBoth(person, 'audit-explained');
    assert.equal(new URL(page.url()).search, '?from=0');

    const known = [`${site.server.url}/audit/${honest}`, `${site.server.url}/console/api/environment`];
    const others = [...asked].filter(
      (url) => !known.includes(url) && !/\/(assets\/.+|first\.js|mark\.svg)$/.test(url) && url !== `${localnet.url}/`,
    );
    assert.deepEqual(others, []);
    assert.deepEqual(person.visit.complaints, []);
  });

  it('offers the findings as the command line writes them, and compares them with events', async () => {
    const person = await visit(PHONE);
    const { page } = person;
    await page.goto(`/audit/${honest}`);
    await auditButton(page).click();
    await verdict(page, 'Explained');

    await page.evaluate(`
      globalThis.openTransaction = IDBDatabase.prototype.transaction;
      IDBDatabase.prototype.transaction = () => { throw new DOMException('The findings are gone.', 'NotFoundError'); };
    `);
    await page.getByRole('button', { name: 'CSV' }).click();
    await page.getByRole('alert').getByText('The findings are gone.').waitFor();
    await page.evaluate('IDBDatabase.prototype.transaction = globalThis.openTransaction');

    const records: AuditRecord[] = [];
    await auditVault(localnet.url, { vault: honest }, { onRecord: (record) => void records.push(record) });
    assert.equal(await download(page, 'CSV'), writeCsv([FINDING_COLUMNS, ...records.map(findingCells)]));
    const document = JSON.parse(await download(page, 'JSON'));
    assert.deepEqual([document.vault, document.isExplained, document.events], [honest, true, null]);
    assert.equal(document.assets[0].airdropped, '4000000');

    const drop = page.getByLabel('Drop the project’s events, or choose a file');
    const chooseFile = (buffer: Buffer) =>
      drop.setInputFiles({ name: 'events.ndjson', mimeType: 'application/x-ndjson', buffer });
    const choose = (lines: readonly object[]) =>
      chooseFile(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
    await chooseFile(Buffer.from(JSON.stringify({ ...EVENT, payload: 'ä' }), 'latin1'));
    await page.getByText('events.ndjson cannot be read as UTF-8.').waitFor();
    await choose([{ type: EVENT.type }]);
    await page.getByText('Line 1 of events.ndjson is not an event.').waitFor();
    await choose([EVENT, EVENT]);
    await verdict(page, 'Events without a proof');
    await page.getByText('1 of 2 events are proven.').waitFor();
    await page.getByText('1 proof matches no event.').waitFor();
    await checkScreen(person, 'audit-events');
    assert.equal(JSON.parse(await download(page, 'JSON')).events.unprovenCount, 1);
    await page.getByRole('button', { name: 'Choose another file' }).click();
    await choose([EVENT, { type: 'WATCH_AD', payload: { adId: '2' } }]);
    await page.getByText('Every proof matches an event.').waitFor();
    await verdict(page, 'Explained');
    assert.deepEqual(person.visit.complaints, []);
  });

  it('shows an outflow without a proof first', async () => {
    const person = await visit(PHONE);
    const { page } = person;
    await page.goto(`/audit/${dishonest}`);
    await auditButton(page).click();
    await verdict(page, 'Unexplained outflow');
    await page.getByText('1 outflow without a proof.').waitFor();
    await page.getByRole('table', { name: 'Outflows without a proof' }).getByText('0.002').waitFor();
    await checkScreen(person, 'audit-unexplained');
    assert.deepEqual(person.visit.complaints, []);
  });

  it('reads the one node that the visitor names, of whose URL the service learns the host only', async () => {
    const person = await visit();
    const { page } = person;
    const slot = Number(await createSolanaRpc(localnet.url).getSlot({ commitment: 'confirmed' }).send());
    const newest = await createSolanaRpc(localnet.url).getSignaturesForAddress(address(honest), { limit: 1 }).send();
    const kept = Number(newest[0]?.slot ?? 0n) - 1;
    localnet.faults.set({ kind: 'forgetHistory', method: '*', slots: slot - kept, node: 'secret-key' });
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.url().startsWith(site.server.url)) sent.push(request.url(), JSON.stringify(request.headers()));
    });
    const origin = localnet.url.replace('127.0.0.1', 'localhost');
    await page.goto(`/audit/${honest}`);
    await page.getByLabel('RPC node').fill('http://node.example');
    await page.getByText('The URL must begin with https://').waitFor();
    await page.getByLabel('RPC node').fill(`${origin}/nodes/secret-key`);
    await auditButton(page).click();
    await verdict(page, 'Incomplete history');
    await page.getByText(/The history is incomplete in the slots 0 to \d+/).waitFor();
    await checkScreen(person, 'audit-incomplete');
    assert.equal(page.url(), `${site.server.url}/audit/${honest}?${new URLSearchParams({ rpc: origin })}`);
    assert.deepEqual(
      sent.filter((header) => header.includes('secret-key')),
      [],
    );
    assert.doesNotMatch(site.server.log(), /secret-key/);
    localnet.faults.clear();
    assert.deepEqual(person.visit.complaints, []);

    assert.equal(await violationOf(page, `${origin}/anything`), null);
    assert.equal(await violationOf(page, '/console/api/environment'), null);
    for (const other of [localnet.url, '/console/api/session', '/v1/batches/current', 'https://evil.example/']) {
      assert.equal(await violationOf(page, other), 'connect-src', other);
    }
  });

  it('goes on where it was cancelled, also after the page was closed', async () => {
    const person = await visit();
    const { page } = person;
    const reads = await holdReads(page);
    await page.goto(`/audit/${dishonest}`);
    await page.getByText('More options').click();
    await page.getByLabel('Requests per second').fill('100');
    await auditButton(page).click();
    await page.getByText(/[1-9]\d* transactions? read, back to slot/).waitFor();
    await checkScreen(person, 'audit-running');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('This audit has stopped').waitFor();
    await page.reload();
    await page.getByText('This audit has stopped').waitFor();
    await checkScreen(person, 'audit-stopped');
    const before = reads.count();
    reads.release();
    await page.getByRole('button', { name: 'Resume' }).click();
    await verdict(page, 'Unexplained outflow');
    const { transactions } = JSON.parse(await download(page, 'JSON'));
    assert.ok(reads.count() - before < transactions.read, 'it begins again');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No audit yet').waitFor();
    await page.reload();
    await page.getByText('No audit yet').waitFor();
    assert.deepEqual(person.visit.complaints, []);
  });

  it('says why it cannot read: a node that does not answer, an address that names none', async () => {
    const person = await visit({ colorScheme: 'dark' });
    const { page } = person;
    await page.goto(`/audit/${honest}?rpc=${encodeURIComponent('https://*.example')}`);
    await page.getByText('The link contains “https://*.example”, which is not the URL of a Solana node').waitFor();
    await checkScreen(person, 'audit-refused');
    await page.goto(`/audit/${honest}?rpc=http://localhost:1`);
    await auditButton(page).click();
    await page.getByText('Some nodes refuse web pages').waitFor();
    await checkScreen(person, 'audit-unreachable');
    await page.goto('/audit/nothing');
    await page.getByText('Not a Solana address').waitFor();
  });

  it('stops in a tab when another one begins the same audit', async () => {
    const { page, visit: opened } = await visit();
    const other = await opened.context.newPage();
    const reads = await holdReads(page);
    await Promise.all([page, other].map((tab) => tab.goto(`/audit/${honest}`)));
    await auditButton(page).click();
    await page.getByText(/[1-9]\d* transactions? read, back to slot/).waitFor();
    await auditButton(other).click();
    await verdict(other, 'Explained');
    reads.release();
    await page.getByText('Another tab has begun an audit of this vault.').waitFor();
    await verdict(page, 'Explained');
  });

  it('gets its policy with a document of its own, and leaves it behind with that', async () => {
    const { page } = await visit();
    await page.goto(`/vault/${honest}`);
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByText('No audit yet').waitFor();
    assert.equal(await violationOf(page, '/console/api/session'), 'connect-src');
    await page.goBack();
    await page.getByRole('link', { name: 'Audit', exact: true }).waitFor();
    assert.equal(await violationOf(page, '/console/api/session'), null);
    await page.goto(`/audit/${honest}?rpc=http://localhost:1`);
    assert.equal(await page.getByRole('button', { name: /Connect/ }).count(), 0);
    await page.getByRole('link', { name: 'Check a proof' }).click();
    await page.getByRole('heading', { name: 'Check a proof' }).waitFor();
    await page.getByRole('button', { name: /Connect/ }).waitFor();
    assert.equal(await violationOf(page, '/console/api/session'), null);
    await page.goBack();
    await page.getByText('No audit yet').waitFor();
    assert.equal(await violationOf(page, '/console/api/session'), 'connect-src');
  });
});

function auditButton(page: Page) {
  return page.getByRole('button', { name: 'Audit', exact: true });
}

/** Reads of transactions that a page gets answered before the others are held. */
const ANSWERED_READS = 4;

/** Keeps a page from reading more than a few transactions until it is released. */
async function holdReads(page: Page): Promise<{ count(): number; release(): void }> {
  const released = Promise.withResolvers<void>();
  let count = 0;
  await page.route(/./, async (route) => {
    const isRead = route.request().postData()?.includes('"getTransaction"') ?? false;
    if (isRead) count += 1;
    if (isRead && count > ANSWERED_READS) await released.promise;
    // The page may have given the request up.
    await route.continue().catch(() => undefined);
  });
  return { count: () => count, release: released.resolve };
}

async function verdict(page: Page, word: string): Promise<void> {
  await page
    .getByRole('heading', { name: word, exact: true })
    .first()
    .waitFor()
    .catch(async (cause: unknown) => {
      throw new Error(`The page says: ${await page.locator('main').textContent()}`, { cause });
    });
}

async function download(page: Page, name: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
  return text(await file.createReadStream());
}

/** The directive that keeps a page from a request; null if the request is answered. */
function violationOf(page: Page, url: string): Promise<string | null> {
  return page.evaluate(`new Promise((resolve, reject) => {
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));
    // The event may come after the error of the request that it is about.
    fetch(${JSON.stringify(url)}, { mode: 'no-cors' }).then(() => resolve(null), (error) => setTimeout(reject, 20_000, error));
  })`);
}
