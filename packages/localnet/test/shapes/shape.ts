/** Documented shape of an answer. A member whose name ends in `?` may be missing. */
export type Shape =
  | 'u64'
  | 'i64'
  | 'number'
  | 'string'
  | 'boolean'
  | 'null'
  | 'anything'
  | { readonly [member: string]: Shape }
  | { readonly [LIST]: Shape }
  | { readonly [MAP]: Shape }
  | { readonly [EITHER]: readonly Shape[] };

const LIST = Symbol('list');
const MAP = Symbol('map');
const EITHER = Symbol('either');

export function list(of: Shape): Shape {
  return { [LIST]: of };
}

/** Describes an object with arbitrary member names. */
export function map(of: Shape): Shape {
  return { [MAP]: of };
}

export function either(...shapes: readonly Shape[]): Shape {
  return { [EITHER]: shapes };
}

export function nullable(shape: Shape): Shape {
  return either('null', shape);
}

/** Describes a value beside the slot of its context. */
export function inContext(value: Shape): Shape {
  return { context: { slot: 'u64', 'apiVersion?': 'string' }, value };
}

/** Lists mismatches of a value, one per line: missing members, undocumented members, and members of another type. */
export function mismatches(value: unknown, shape: Shape, place = 'result'): string[] {
  if (typeof shape === 'string') return isOf(shape, value) ? [] : [`${place} is no ${shape}: ${JSON.stringify(value)}`];
  if (EITHER in shape) {
    const each = shape[EITHER].map((one) => mismatches(value, one, place));
    return each.some((found) => found.length === 0) ? [] : (each.at(-1) ?? []);
  }
  if (LIST in shape) {
    if (!Array.isArray(value)) return [`${place} is no list: ${JSON.stringify(value)}`];
    return value.flatMap((item, index) => mismatches(item, shape[LIST], `${place}[${index}]`));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [`${place} is no object: ${JSON.stringify(value)}`];
  }
  const members = new Map(Object.entries(value));
  if (MAP in shape) return [...members].flatMap(([name, member]) => mismatches(member, shape[MAP], `${place}.${name}`));
  const described = Object.entries(shape).map(
    ([name, of]) => [name.replace(/\?$/, ''), name.endsWith('?'), of] as const,
  );
  const names = new Set(described.map(([name]) => name));
  return [
    ...[...members.keys()].filter((name) => !names.has(name)).map((name) => `${place}.${name} is not documented`),
    ...described.flatMap(([name, isOptional, of]) => {
      if (!members.has(name)) return isOptional ? [] : [`${place}.${name} is missing`];
      return mismatches(members.get(name), of, `${place}.${name}`);
    }),
  ];
}

function isOf(type: Extract<Shape, string>, value: unknown): boolean {
  switch (type) {
    case 'u64':
      return Number.isInteger(value) && Number(value) >= 0;
    case 'i64':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    case 'anything':
      return value !== undefined;
    default:
      return typeof value === type;
  }
}
