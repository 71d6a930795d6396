/** A path into the request as errors name it: `pipelines[2].actions[0].amount`; `body` for the request itself. */
export function placeOf(path: readonly PropertyKey[]): string {
  const [first, ...rest] = path.map(String);
  if (first === undefined) return 'body';
  return first + rest.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join('');
}
