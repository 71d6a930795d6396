import { inspect } from 'node:util';
import { visibleText } from '@flywheel/protocol';

// Names, URLs, messages and files come from others. On a terminal, their control characters could move the cursor over what was
// printed before, change the title or the clipboard, or show an address in another order.

/** Shows a foreign text of several lines: see `visibleText`. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visibleText).join('\n');
}

/**
 * Shows a text in which some words may have a style. Foreign words should have passed `visibleText` before: here they could still
 * take one of the command line's own styles, none of which hides anything.
 */
export function visibleStyledLines(text: string): string {
  return text
    .split(STYLES)
    .map((part, i) => (i % 2 === 0 ? visibleLines(part) : part))
    .join('');
}

const STYLE_CODES = (['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const).flatMap(
  (name) => inspect.colors[name],
);
const ESCAPE = '\u001B';
/** The sequences that `styleText` writes for the styles of this command line. */
const STYLES = new RegExp(`(${ESCAPE}\\[(?:${STYLE_CODES.join('|')})m)`);

/** Writes a document as JSON that parses to the same, and escapes the control characters that `JSON.stringify` leaves. */
export function toVisibleJson(document: unknown, indent?: number): string {
  return JSON.stringify(document, null, indent).replaceAll(/[\u007F-\u009F\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, escapeJson);
}

function escapeJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
