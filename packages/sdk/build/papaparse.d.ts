// The parts of papaparse that are used. Its own declarations bring those of Node into the compilation, which would then
// accept what browsers do not have.
interface ParseError {
  readonly type: string;
  readonly row?: number;
  readonly message: string;
}

declare const papaparse: {
  parse<Row>(
    text: string,
    options: { readonly delimiter: string; readonly newline: '\n' },
  ): { readonly data: Row[]; readonly errors: ParseError[] };
  unparse(rows: readonly (readonly string[])[], options: { readonly newline: '\n' | '\r\n' }): string;
};
export default papaparse;
