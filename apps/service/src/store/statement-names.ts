/** A name for the text of a statement; undefined for one that has none. */
export type StatementNames = (text: string) => string | undefined;

/**
 * More than the service has. A connection keeps about 20 KB for each, so one with a list of another length each time
 * gets none.
 */
export const MAX_NAMES = 300;
/** Uses of a statement without a name, before it gets one. */
const UNNAMED_USES = 2;

/** Creates names for statements that come again, the same for all connections of a pool. */
export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MAX_NAMES) return known;
    const used = uses.get(text) ?? 0;
    if (used < UNNAMED_USES) {
      if (uses.size >= 10 * MAX_NAMES) uses.clear();
      uses.set(text, used + 1);
      return undefined;
    }
    uses.delete(text);
    const name = `flywheel_${names.size}`;
    names.set(text, name);
    return name;
  };
}
