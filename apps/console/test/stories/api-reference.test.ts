import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { OPERATIONS } from '@flywheel/api';
import { noBrowser } from '@flywheel/testing/browser';
import { openStory, type Person, type Registered, register, type Story, signIn } from './story.ts';

describe('the API reference in a browser', { skip: noBrowser }, () => {
  let story: Story;
  let person: Person;
  let project: Registered;
  before(async () => {
    story = await openStory();
    person = await story.visit();
    await signIn(person);
    project = await register(person);
  });
  after(() => story.stop());

  it('shows every operation, and contacts only this service', async () => {
    const { page } = person;
    // The page of the project reads the chain.
    await page.goto('about:blank');
    const hosts = new Set<string>();
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol.startsWith('http')) hosts.add(host);
    });
    await page.goto('/docs');
    for (const { summary } of Object.values(OPERATIONS)) {
      await page.getByRole('link', { name: summary }).first().waitFor({ state: 'attached' });
    }
    assert.deepEqual([...hosts], [new URL(page.url()).host]);
    assert.deepEqual(person.visit.complaints, []);
  });

  it('sends a request from its page', async () => {
    const { page } = person;
    await page.goto('/docs/api/#tag/status/GET/v1/flywheel/batches');
    await page.getByRole('button', { name: /Test Request.*get \/v1\/flywheel\/batches/s }).click();
    const responded = page.waitForResponse(/\/v1\/flywheel\/batches/);
    await page.getByRole('button', { name: /^Send/ }).first().click();
    const response = await responded;
    assert.deepEqual([response.status(), (await response.json()).error], [401, 'ERR_UNAUTHORIZED']);
  });

  it('gives a script on its page no access to /console/api, even if the visitor is signed in', async () => {
    // A page of its own: the attempts violate the policy, which a story's page must never do.
    const page = await person.visit.context.newPage();
    await page.goto('/');
    assert.match(String(await page.evaluate(FETCH)), new RegExp(project.projectId), 'the console itself can read it');
    await page.goto('/docs/api/');
    for (const [way, attempt] of Object.entries(ATTEMPTS)) {
      const seen = String(await page.evaluate(attempt));
      assert.ok(!seen.includes(project.projectId), `${way} read ${seen.slice(0, 200)}`);
    }
  });
});

/** Runs a statement when the page of the window `opened` has loaded, or resolves with the error of the first look at it. */
const whenLoaded = (statement: string) => `
    const look = () => {
      try {
        if (opened.location.href !== 'about:blank' && opened.document.readyState === 'complete') ${statement};
        else setTimeout(look, 20);
      } catch (error) { resolve(String(error)); }
    };
    look();`;

/**
 * Expressions that run in the page. Each gives what a script could read of the visitor's projects, or its error. Text,
 * because the types of a browser's globals are not part of these tests.
 */
const FETCH = "fetch('/console/api/projects').then((response) => response.text(), String)";

const ATTEMPTS: Readonly<Record<string, string>> = {
  fetch: FETCH,
  XMLHttpRequest: `new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.onloadend = () => resolve(request.responseText);
    request.open('GET', '/console/api/projects');
    request.send();
  })`,
  'a frame': `new Promise((resolve) => {
    const frame = document.createElement('iframe');
    const read = () => {
      try { resolve(frame.contentDocument.documentElement.textContent); } catch (error) { resolve(String(error)); }
    };
    frame.src = '/console/api/projects';
    frame.onload = read;
    document.body.append(frame);
  })`,
  'a window with the response': `new Promise((resolve) => {
    const opened = window.open('/console/api/projects');
    ${whenLoaded('resolve(opened.document.documentElement.textContent)')}
  })`,
  'a window of the console': `new Promise((resolve) => {
    const opened = window.open('/');
    ${whenLoaded(`resolve(opened.eval(${JSON.stringify(FETCH)}))`)}
  })`,
  'a worker': `new Promise((resolve) => {
    try {
      const source = ${JSON.stringify(`${FETCH}.then(postMessage)`)};
      const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
      worker.onmessage = ({ data }) => resolve(String(data));
      worker.onerror = () => resolve('blocked');
    } catch (error) { resolve(String(error)); }
  })`,
};
