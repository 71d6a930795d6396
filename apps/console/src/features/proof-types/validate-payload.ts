import { format, Validator } from '@cfworker/json-schema';

/** The first issue of a payload, or null; `unsupported` says why the page cannot check the schema at all. */
export type PayloadCheck = { readonly issue: string | null } | { readonly unsupported: string };

// The service reads `format` as an annotation (ajv with validateFormats: false), so the page must not check it either.
for (const name of Object.keys(format)) delete format[name];

/**
 * Validates a payload against a JSON Schema (2020-12) as the service will. The service uses ajv, which compiles schemas
 * to code; this page’s policy forbids eval, so the page interprets them.
 */
export function validatePayload(schema: unknown, payload: unknown): PayloadCheck {
  if (typeof schema !== 'object' || schema === null) return { unsupported: 'The schema is not a JSON object' };
  try {
    // A copy: the validator annotates the schema it gets.
    const { errors } = new Validator(structuredClone(schema), '2020-12').validate(payload);
    return { issue: describeError(errors) };
  } catch (error) {
    return { unsupported: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}

type ValidationError = ReturnType<Validator['validate']>['errors'][number];

/** Keywords whose own error only says that a part failed; the error of the part follows. */
const CONTAINERS = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems', 'propertyNames'],
  ...['$ref', 'allOf', 'dependentSchemas', 'if', 'unevaluatedProperties', 'unevaluatedItems'],
]);

function describeError(errors: readonly ValidationError[]): string | null {
  const found = errors.find(({ keyword }) => !CONTAINERS.has(keyword)) ?? errors[0];
  if (!found) return null;
  const path = found.instanceLocation.replace(/^#\/?/, '');
  const name = path === '' ? 'The payload' : path;
  if (found.keyword === 'false') return `${name} is not allowed`;
  const text = found.error.replace(/\.$/, '');
  return text.startsWith('Instance ') ? text.replace('Instance', name) : `${name}: ${text}`;
}
