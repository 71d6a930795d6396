import { stringifyJson } from '../../src/json.ts';
import type { Difference } from './differences.ts';
import type { Answers } from './script.ts';

/** One place where an answer of the local cluster is not that of the validator; undefined: a member that is missing. */
export interface Mismatch {
  readonly name: string;
  /** Path of the place in the answer, for example `error.message`. */
  readonly path: string;
  readonly local: string | undefined;
  readonly validator: string | undefined;
}

/** Lists where answers differ, each place once. */
export function findMismatches(local: Answers, validator: Answers): Mismatch[] {
  const names = new Set([...Object.keys(local), ...Object.keys(validator)]);
  return [...names].flatMap((name) => compareValues(name, '', local[name], validator[name]));
}

/** Returns true if a difference describes a mismatch. */
export function describes({ calls, path, local, validator }: Difference, mismatch: Mismatch): boolean {
  return (
    calls.test(mismatch.name) &&
    path.test(mismatch.path) &&
    (local === undefined || local.test(mismatch.local ?? '')) &&
    (validator === undefined || validator.test(mismatch.validator ?? ''))
  );
}

function compareValues(name: string, path: string, local: unknown, validator: unknown): Mismatch[] {
  if (isBranch(local) && isBranch(validator) && Array.isArray(local) === Array.isArray(validator)) {
    const members = new Set([...Object.keys(local), ...Object.keys(validator)]);
    return [...members].flatMap((member) =>
      compareValues(name, path === '' ? member : `${path}.${member}`, local[member], validator[member]),
    );
  }
  const [here, there] = [textOf(local), textOf(validator)];
  return here === there ? [] : [{ name, path, local: here, validator: there }];
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : stringifyJson(value);
}

function isBranch(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
