/**
 * The query of an address as the router takes it: every value is the text that stands there. By default the router
 * reads values as JSON, and a payload that was read and written again has another hash.
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
