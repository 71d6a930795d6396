/** The part of a zod error that is read here: this package needs no zod. */
export interface ParseError {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** An issue that zod has found in a value. */
export interface ParseIssue {
  /** Path of the value, such as `pipelines[2].actions[0].amount`. */
  readonly place: string;
  readonly message: string;
}

/**
 * Describes the first issue that zod found.
 * @param whole names the parsed value itself.
 * @param base path of the parsed value in a larger one, with which every place begins; `whole` is not used then.
 */
export function firstParseIssue(
  { issues: [issue] }: ParseError,
  whole: string,
  base: readonly PropertyKey[] = [],
): ParseIssue {
  return { place: formatPath([...base, ...(issue?.path ?? [])], whole), message: issue?.message ?? 'is not valid' };
}

/**
 * Formats a path into a value as the service names places: `pipelines[2].actions[0].amount`.
 * @param whole names the value itself, whose path is empty.
 */
export function formatPath(path: readonly PropertyKey[], whole: string): string {
  if (path.length === 0) return whole;
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');
}
