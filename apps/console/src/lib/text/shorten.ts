/** `7Fq2…9dKe`; short texts stay whole. */
export function shorten(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 4)}…${text.slice(-4)}`;
}
