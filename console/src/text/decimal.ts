/** A JSON number as plain decimal text, digit for digit as it is written: `1e-7` is `0.0000001`. */
export function decimalOf(value: number): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0').padEnd(point, '0');
  const at = Math.max(1, point);
  const tail = padded.slice(at);
  return `${sign}${padded.slice(0, at)}${tail === '' ? '' : `.${tail}`}`;
}
