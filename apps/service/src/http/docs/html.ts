/** Markup that is safe to send: everything put into it has been escaped. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | null | Html | readonly Html[];

/** A template whose values are escaped, unless they are markup already; null leaves nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { markup: strings.reduce((markup, text, index) => markup + toMarkup(values[index - 1] ?? null) + text) };
}

/** Prose of the catalogue: escaped, with `code` between backticks. */
export function prose(text: string): Html {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}

function toMarkup(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeMarkup(String(value));
  return 'markup' in value ? value.markup : value.map(({ markup }) => markup).join('');
}

const ESCAPES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
