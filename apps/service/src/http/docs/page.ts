import { CONSOLE_OPERATIONS, ERRORS, type ErrorCode, errorsByStatus, OPERATIONS, type Operation } from '@flywheel/api';
import type * as z from 'zod';
import { curlExample, jsonExample } from './example.ts';
import { EXAMPLES, type Example } from './examples.ts';
import { type Html, html, prose } from './html.ts';
import { type ContentsLink, contentsList, type DocsPage, layout } from './layout.ts';
import { type NamedSchemas, namedSchema, schemaFields } from './schema.ts';

/** The reference of every operation as one page, from the tables that the server itself is made of. */
export function docsPage(): DocsPage {
  const linked: NamedSchemas = new Map();
  const operations = sections(OPERATIONS, linked);
  const consoleOperations = sections(CONSOLE_OPERATIONS, linked);
  const schemas = [...linked].sort(([a], [b]) => (a < b ? -1 : 1));
  const contents = html`${contentsList('Guide', GUIDE_LINKS)}
${contentsList(
  'This page',
  GUIDE.map(({ id, title }) => ({ href: `#${id}`, label: html`${title}` })),
)}
${contentsList('Operations', operationLinks(OPERATIONS))}
${contentsList('Console', operationLinks(CONSOLE_OPERATIONS))}
${contentsList(
  'Schemas',
  schemas.map(([name]) => ({ href: `#schema-${name}`, label: html`${name}` })),
)}
${contentsList('Errors', [{ href: '#errors', label: html`Every code` }])}`;
  const main = html`<header>
<h1>Flywheel API</h1>
<p>Token operations become batches. Two parties approve a batch through a multisig; it is executed on Solana in bundles; anyone can check the proof. Four calls do it.</p>
<p class="quiet">This page is made from the same tables as the server. Machines read <a href="/openapi.json">openapi.json</a>. New here? Begin with the <a href="/docs/tutorial">tutorial</a>.</p>
</header>
${GUIDE.map(({ id, title, text }) => html`<section class="guide" id="${id}"><h3><a href="#${id}">${title}</a></h3>${text}</section>`)}
<h2 class="part">Operations</h2>
${operations}
<h2 class="part">Console</h2>
<p>What the console and <code>flywheel register</code> speak. It may change with them; only <code>/v1</code> is a contract.</p>
${consoleOperations}
<h2 class="part">Schemas</h2>
${schemas.map(
  ([name, schema]) =>
    html`<section id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>${namedSchema(schema)}</section>`,
)}
<h2 class="part">Errors</h2>
<section id="errors">${everyError()}</section>`;
  return layout({ title: 'Flywheel API reference', contents, main });
}

const GUIDE_LINKS = [
  { href: '/docs/guide', label: html`All pages` },
  { href: '/docs/tutorial', label: html`Tutorial` },
  { href: '/docs/concepts', label: html`Concepts` },
];

const GUIDE: readonly { readonly id: string; readonly title: string; readonly text: Html }[] = [
  {
    id: 'flow',
    title: 'From a pipeline to the chain',
    text: html`<ol>
<li><a href="#initBatch">Initialize</a> a batch: pipelines in, an approval transaction out.</li>
<li>Sign <code>proposalApproveTx</code> with the project’s wallet.</li>
<li><a href="#executeBatch">Execute</a> the batch with the signed transaction.</li>
<li><a href="#getBatch">Read</a> the batch until its status is <code>EXECUTED</code> or <code>FAILED</code>.</li>
</ol>
<p>A batch is <code>AVAILABLE_TO_QUEUE</code> while it is set up on chain, then <code>FINALIZED</code>. Signing may take days: the approval does not expire with a blockhash.</p>`,
  },
  {
    id: 'authentication',
    title: 'Authentication',
    text: html`<p>Send the project’s API key in <code>x-service-api-key</code>. A key is <code>fwk_</code> and 49 letters and digits; the last six are a checksum, so that a truncated key is told from an unknown one. Keys carry the scopes <code>burn</code>, <code>airdrop</code> or both; either opens every operation, and a <code>BURN</code> or <code>AIRDROP</code> needs its own. Bearer tokens are not accepted.</p>`,
  },
  {
    id: 'failures',
    title: 'Failures',
    text: html`<p>Every failure is JSON with a code for programs and a sentence for people. The sentence names the place and the numbers. Quote <code>x-request-id</code>, which every answer carries, when you ask about one.</p>
${jsonExample({ error: 'ERR_INVALID_REQUEST', message: 'body.batchId must be a UUID.' })}`,
  },
  {
    id: 'rate-limits',
    title: 'Rate limits',
    text: html`<p>Counted per API key and operation. Every answer says where you stand: <code>RateLimit-Policy: "init";q=10;w=60</code> is ten requests in 60 seconds, <code>RateLimit: "init";r=9;t=41</code> nine left for 41 seconds. Past it the answer is 429 with <code>Retry-After</code>. Replays count.</p>`,
  },
  {
    id: 'idempotency',
    title: 'Idempotency',
    text: html`<p>Make a UUID per batch and send it in <code>x-idempotency-key</code>. The same key with the same body answers the same batch, with <code>idempotency-replayed: true</code>; with another body it is refused. A request that failed stored nothing: repeat it with the same key. Executing needs no key: a batch is never executed twice.</p>`,
  },
];

type Table = typeof OPERATIONS | typeof CONSOLE_OPERATIONS;

function sections(table: Table, linked: NamedSchemas): Html[] {
  return Object.entries<Operation>(table).map(([id, operation]) =>
    section(id, operation, EXAMPLES[id as keyof typeof EXAMPLES] ?? null, linked),
  );
}

function section(id: string, operation: Operation, example: Example | null, linked: NamedSchemas): Html {
  const { method, path, summary, description, headers, params, query, body, responses } = operation;
  const part = (title: string, schema: z.ZodType | undefined) =>
    schema ? html`<h4>${title}</h4>${schemaFields(schema, 'input', linked)}` : null;
  return html`<section id="${id}">
<h3><a href="#${id}">${summary}</a></h3>
<p class="route"><span class="method ${method}">${method}</span>${path}</p>
<div class="columns">
<div>
<p>${prose(description)}</p>
<p class="quiet">${prose(CREDENTIALS[operation.authentication])}</p>
${part('Path', params)}${part('Query', query)}${part('Headers', headers)}${part('Body', body)}
${Object.entries(responses).map(
  ([status, response]) =>
    html`<h4><span class="status">${status}</span>${prose(response.description)}</h4>${schemaFields(response.schema, 'output', linked)}`,
)}
<h4>Errors</h4>
${errorList(operation)}
</div>
${example && samples(operation, example)}
</div>
</section>`;
}

function samples(operation: Operation, example: Example): Html {
  return html`<div class="samples">
<h4>Request</h4>
${curlExample(operation, example)}
<h4>Answer, ${example.reply.status}</h4>
${jsonExample(example.reply.body)}
</div>`;
}

const CREDENTIALS: { readonly [A in Operation['authentication']]: string } = {
  apiKey: 'Needs an API key in `x-service-api-key`.',
  session: 'Needs a session: sign in with the project’s wallet.',
  company: 'Needs the session of a wallet that `COMPANY_OPERATORS` lists.',
  none: 'Needs no credentials.',
};

function errorList(operation: Operation): Html {
  const codes = [...errorsByStatus(operation).values()].flat();
  return html`<ul class="errors">${codes.map((code) => failure(code, html`<a href="#${code}"><code>${code}</code></a>`))}</ul>`;
}

function everyError(): Html {
  const codes = Object.keys(ERRORS) as ErrorCode[]; // the catalogue's keys are its codes
  return html`<ul class="errors">${codes.map((code) => failure(code, html`<code id="${code}">${code}</code>`))}</ul>`;
}

function failure(code: ErrorCode, name: Html): Html {
  const { status, summary } = ERRORS[code];
  return html`<li><span>${status}</span><div>${name}<p>${prose(summary)}</p></div></li>`;
}

/** What says nothing in a list of links. */
const PATH_PREFIX = /^\/v1\/flywheel\/|^\/console\/api\//;

function operationLinks(table: Table): ContentsLink[] {
  return Object.entries<Operation>(table).map(([id, { method, path }]) => ({
    href: `#${id}`,
    label: html`<span class="method ${method}">${method}</span><span>${breakable(path.replace(PATH_PREFIX, ''))}</span>`,
  }));
}

/** A path that may wrap after its slashes. */
function breakable(path: string): Html {
  return html`${path.split('/').map((segment, index) => html`${index === 0 ? null : html`/<wbr>`}${segment}`)}`;
}
