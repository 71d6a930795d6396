import type { Operation } from '@flywheel/api';
import type { Example } from './examples.ts';
import { type Html, html } from './html.ts';

/** A call as curl, in the words of the CLI's environment: FLYWHEEL_URL and FLYWHEEL_API_KEY. */
export function curlExample({ method, path, authentication }: Operation, { request }: Example): Html {
  const { params = {}, query = {}, headers = {}, body } = request;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
  const search = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const url = `$FLYWHEEL_URL${filled}${search.length === 0 ? '' : `?${search.join('&')}`}`;
  const json = method === 'GET' ? [] : ["-H 'content-type: application/json'"];
  const lines = [
    `curl ${method === 'GET' || body !== undefined ? '' : `-X ${method} `}"${url}"`,
    ...CREDENTIALS[authentication],
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...json,
  ];
  const command = lines.join(' \\\n  ');
  if (body === undefined) return html`<pre><code>${command}</code></pre>`;
  return html`<pre><code>${command} \\
  -d '${highlight(body)}'</code></pre>`;
}

/** A JSON value, its keys, texts and other values told apart. */
export function jsonExample(value: unknown): Html {
  return html`<pre><code>${highlight(value)}</code></pre>`;
}

const CREDENTIALS: { readonly [A in Operation['authentication']]: readonly string[] } = {
  apiKey: ['-H "x-service-api-key: $FLYWHEEL_API_KEY"'],
  session: ['-b cookies.txt'],
  company: ['-b cookies.txt'],
  none: ['-c cookies.txt'],
};

/** A line of pretty JSON: indentation, key, value, and what closes or parts. */
const LINE = /^(\s*)("(?:[^"\\]|\\.)*"(?=: ))?(: )?("(?:[^"\\]|\\.)*")?(.*)$/;

function highlight(value: unknown): Html {
  const lines = JSON.stringify(value, null, 2).split('\n');
  return html`${lines.map((line, index) => {
    const [, indent = '', key, colon = '', text, rest = ''] = LINE.exec(line) ?? [
      '',
      '',
      undefined,
      '',
      undefined,
      line,
    ];
    return html`${index === 0 ? null : '\n'}${indent}${key === undefined ? null : html`<b>${key}</b>`}${colon}${
      text === undefined ? null : html`<i>${text}</i>`
    }${rest}`;
  })}`;
}
