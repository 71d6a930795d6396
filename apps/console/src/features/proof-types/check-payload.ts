/** Why a payload does not satisfy a schema, or null; `unknown` when the schema says more than this page understands. */
export type Verdict = { readonly problem: string | null } | { readonly unknown: string };

type Json = unknown;

/** Keywords that change nothing about what is allowed. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'format',
  'deprecated',
]);

/**
 * Checks a payload against the common part of JSON Schema. The service’s own check knows all of it and is the one that
 * counts; no complete checker runs under this page’s policy, since they compile schemas to code.
 */
export function checkPayload(schema: Json, payload: Json, place = 'the payload'): Verdict {
  if (schema === true) return { problem: null };
  if (schema === false) return { problem: `${place} is not allowed` };
  if (!isRecord(schema)) return { unknown: 'a schema that is neither an object nor a boolean' };
  for (const [keyword, rule] of Object.entries(schema)) {
    if (ANNOTATIONS.has(keyword)) continue;
    const check = CHECKS[keyword];
    if (!check) return { unknown: keyword };
    const verdict = check(rule, payload, place, schema);
    if ('unknown' in verdict || verdict.problem !== null) return verdict;
  }
  return { problem: null };
}

type Check = (rule: Json, value: Json, place: string, schema: Readonly<Record<string, Json>>) => Verdict;

const CHECKS: Readonly<Record<string, Check>> = {
  type: (rule, value, place) => {
    const types = Array.isArray(rule) ? rule : [rule];
    return says(
      types.some((type) => isOfType(value, type)),
      `${place} must be ${types.join(' or ')}`,
    );
  },
  enum: (rule, value, place) =>
    says(
      Array.isArray(rule) && rule.some((one) => isEqual(one, value)),
      `${place} must be one of ${JSON.stringify(rule)}`,
    ),
  const: (rule, value, place) => says(isEqual(rule, value), `${place} must be ${JSON.stringify(rule)}`),
  required: (rule, value, place) => {
    if (!isRecord(value) || !Array.isArray(rule)) return FINE;
    const missing = rule.find((name) => !Object.hasOwn(value, String(name)));
    return says(missing === undefined, `${place} must have ${missing}`);
  },
  properties: (rule, value, place) => {
    if (!isRecord(value) || !isRecord(rule)) return FINE;
    const own = Object.entries(rule).filter(([name]) => Object.hasOwn(value, name));
    return first(
      own.map(
        ([name, schema]) =>
          () =>
            checkPayload(schema, value[name], `${place}.${name}`),
      ),
    );
  },
  additionalProperties: (rule, value, place, { properties, patternProperties }) => {
    if (patternProperties !== undefined) return { unknown: 'patternProperties' };
    if (!isRecord(value)) return FINE;
    const extra = Object.keys(value).filter((name) => !(isRecord(properties) && Object.hasOwn(properties, name)));
    return first(extra.map((name) => () => checkPayload(rule, value[name], `${place}.${name}`)));
  },
  items: (rule, value, place) =>
    Array.isArray(value)
      ? first(value.map((item, index) => () => checkPayload(rule, item, `${place}[${index}]`)))
      : FINE,
  minLength: (rule, value, place) =>
    says(
      typeof value !== 'string' || [...value].length >= Number(rule),
      `${place} must have ${rule} characters or more`,
    ),
  maxLength: (rule, value, place) =>
    says(
      typeof value !== 'string' || [...value].length <= Number(rule),
      `${place} must have ${rule} characters or fewer`,
    ),
  minimum: (rule, value, place) =>
    says(typeof value !== 'number' || value >= Number(rule), `${place} must be ${rule} or more`),
  maximum: (rule, value, place) =>
    says(typeof value !== 'number' || value <= Number(rule), `${place} must be ${rule} or less`),
  exclusiveMinimum: (rule, value, place) =>
    says(typeof value !== 'number' || value > Number(rule), `${place} must be more than ${rule}`),
  exclusiveMaximum: (rule, value, place) =>
    says(typeof value !== 'number' || value < Number(rule), `${place} must be less than ${rule}`),
  minItems: (rule, value, place) =>
    says(!Array.isArray(value) || value.length >= Number(rule), `${place} must have ${rule} items or more`),
  maxItems: (rule, value, place) =>
    says(!Array.isArray(value) || value.length <= Number(rule), `${place} must have ${rule} items or fewer`),
};

const FINE: Verdict = { problem: null };

function says(isFine: boolean, problem: string): Verdict {
  return isFine ? FINE : { problem };
}

function first(checks: readonly (() => Verdict)[]): Verdict {
  for (const check of checks) {
    const verdict = check();
    if ('unknown' in verdict || verdict.problem !== null) return verdict;
  }
  return FINE;
}

function isOfType(value: Json, type: Json): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isRecord(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isEqual(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
