import * as z from 'zod';
import { type Html, html, prose } from './html.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Schemas that have a name of their own, by name. */
export type NamedSchemas = Map<string, JsonSchema>;

/**
 * A schema for reading: its fields, their types and bounds. Named schemas inside it become links and are added to
 * `linked`; a schema that has a name itself is shown whole.
 */
export function schemaFields(schema: z.ZodType, io: 'input' | 'output', linked: NamedSchemas): Html {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io });
  const referred = root.$ref === undefined ? root : $defs[nameOf(root.$ref)];
  const shown = isSchema(referred) ? referred : root;
  addLinked(shown, $defs, linked);
  return fields(shown);
}

/** A named schema for reading. */
export function namedSchema(schema: JsonSchema): Html {
  return html`${schema.description === undefined ? null : html`<p>${prose(schema.description)}</p>`}${fields(schema)}`;
}

/** Every named schema that this one leads to. */
function addLinked(value: unknown, definitions: Readonly<Record<string, unknown>>, linked: NamedSchemas): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    const name = key === '$ref' && typeof child === 'string' ? nameOf(child) : null;
    const definition = name === null ? undefined : definitions[name];
    if (name !== null && isSchema(definition) && !linked.has(name)) {
      linked.set(name, definition);
      addLinked(definition, definitions, linked);
    }
    addLinked(child, definitions, linked);
  }
}

function fields(schema: JsonSchema): Html {
  const { properties, required = [] } = schema;
  if (properties === undefined) return html`<p class="type">${type(schema)}</p>`;
  if (Object.keys(properties).length === 0) return html`<p class="quiet">An empty object.</p>`;
  const rows = Object.entries(properties).map(([name, property]) =>
    field(name, typeof property === 'object' ? property : {}, required.includes(name)),
  );
  return html`<ul class="fields">${rows}</ul>`;
}

function field(name: string, schema: JsonSchema, isRequired: boolean): Html {
  const { description, default: byDefault } = schema;
  const details = [
    description === undefined ? null : html`<p>${prose(sentence(description))}</p>`,
    ...[pattern(schema)].map((text) => (text === null ? null : html`<p class="quiet">${prose(text)}</p>`)),
    byDefault === undefined ? null : html`<p class="quiet">By default <code>${JSON.stringify(byDefault)}</code>.</p>`,
    nested(schema),
  ].filter((detail) => detail !== null);
  return html`<li><div><code class="name">${name}</code> <span class="type">${type(schema)}</span>${
    isRequired ? null : html` <span class="optional">optional</span>`
  }</div>${details}</li>`;
}

/** Fields of an object that stands inside, without a name of its own. */
function nested(schema: JsonSchema): Html | null {
  const inner = schema.type === 'array' && isSchema(schema.items) ? schema.items : schema;
  return inner.properties === undefined ? null : fields(inner);
}

function type(schema: JsonSchema): Html {
  if (schema.$ref !== undefined) return link(nameOf(schema.$ref));
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum)
    return join(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' or ',
    );
  const options = schema.oneOf ?? schema.anyOf;
  if (options) return join(options.filter(isSchema).map(type), ' or ');
  if (schema.type === 'array') {
    const { minItems, maxItems } = schema;
    const items = isSchema(schema.items) ? type(schema.items) : html`anything`;
    return html`array of ${items}${bounds(minItems, maxItems, 'items')}`;
  }
  if (schema.type === 'string') {
    const format = schema.format ?? schema.contentEncoding;
    const name = format === undefined ? 'string' : (FORMATS[format] ?? format);
    return html`${name}${bounds(schema.minLength, schema.maxLength, 'characters')}`;
  }
  if (schema.type === 'number' && typeof schema.exclusiveMinimum === 'number') {
    return html`number, greater than ${schema.exclusiveMinimum}`;
  }
  return html`${schema.type === undefined ? 'anything' : [schema.type].flat().join(' or ')}`;
}

const FORMATS: { readonly [format: string]: string } = {
  guid: 'UUID',
  uuid: 'UUID',
  base64: 'base64 text',
  'date-time': 'ISO 8601 date-time',
};

/** zod gives every format a pattern too; only one that stands alone tells something. */
function pattern({ pattern, format, contentEncoding }: JsonSchema): string | null {
  return pattern === undefined || format !== undefined || contentEncoding !== undefined
    ? null
    : `Matches \`${pattern}\`.`;
}

/** The bounds of zod's int are those of a double and say nothing. */
function bounds(min: number | undefined, max: number | undefined, unit: string): Html | null {
  if (min === undefined && max === undefined) return null;
  if (min !== undefined && max !== undefined) return html`, ${min} to ${max.toLocaleString('en')} ${unit}`;
  if (max !== undefined) return html`, at most ${max.toLocaleString('en')} ${unit}`;
  return min === 1 ? html`, not empty` : html`, at least ${min ?? 0} ${unit}`;
}

function link(name: string): Html {
  return html`<a href="#schema-${name}">${name}</a>`;
}

function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function join(parts: readonly Html[], separator: string): Html {
  return html`${parts.map((part, index) => html`${index === 0 ? null : separator}${part}`)}`;
}

function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema);
}
