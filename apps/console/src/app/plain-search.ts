/**
 * Reads and writes the query of an address as plain text. The router’s own version reads values as JSON, which changes
 * the white space of a payload and so its hash.
 */
export const plainSearch = {
  parseSearch: (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search)),

  stringifySearch: (search: Record<string, unknown>): string => {
    const values = Object.entries(search).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return values.length === 0 ? '' : `?${new URLSearchParams(values)}`;
  },
};
