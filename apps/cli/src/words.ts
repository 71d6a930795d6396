/** `7Fq2…9dKe`: enough to recognize an address or signature by. */
export function shorten(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 4)}…${text.slice(-4)}`;
}

/** `1 pipeline`, `36 pipelines`, `2 batches`. */
export function count(amount: number, singular: string, plural = `${singular}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? singular : plural}`;
}

const DURATION_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** In its largest unit, e.g. `6 d`. */
export function roughDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const [unit, unitSeconds] = DURATION_UNITS.find(([, size]) => seconds >= size) ?? ['s', 1];
  return `${Math.floor(seconds / unitSeconds)} ${unit}`;
}

/** `1,234.5`: the whole part of plain decimal text in groups of three. */
export function groupDigits(decimal: string): string {
  const [whole = '', fraction] = decimal.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
