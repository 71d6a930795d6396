import { FlywheelError } from '../../errors.ts';

/** A field of what a node answered; undefined where there is none. */
export function fieldOf(value: unknown, name: string | number): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** The entries of a list; none where there is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A place in a list; -1, where nothing is, for what is no number. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : -1;
}

/** An answer that is not what the method documents. */
export function unexpectedAnswer(method: string, value: unknown): FlywheelError {
  const quoted = JSON.stringify(value)?.slice(0, MAX_QUOTED_CHARACTERS);
  return new FlywheelError({
    code: 'ERR_UNEXPECTED_REPLY',
    message: `The cluster answered ${method} with something this client does not know: ${quoted}`,
  });
}

const MAX_QUOTED_CHARACTERS = 200;
