/** Joins class names; skips empty and absent ones. clsx does the same, but is not worth a dependency for one line. */
export function cn(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}
