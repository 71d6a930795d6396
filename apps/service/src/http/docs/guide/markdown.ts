import { slug } from './slug.ts';

/** A piece of a page. Texts are Markdown still: what stands inside a line is read by `inlineMarkdown`. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string; readonly id: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string; readonly note: string | null }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] };

/**
 * Reads the Markdown that our pages are written in: headings, paragraphs, fenced code, lists, tables, quotes. Comments
 * are left out; one right before code is its note. Anything else, HTML included, is text.
 * @throws Error naming the line of a fence that is not closed.
 */
export function parseMarkdown(text: string): Block[] {
  const ids = new Map<string, number>();
  return parseLines(text.split(/\r?\n/), ids);
}

const FENCE = /^```(\S*)/;
const HEADING = /^(#{1,6}) +(.*)$/;
const ITEM = /^([-*]|\d+\.) +/;
const QUOTE = /^> ?/;
const COMMENT = /^<!--\s*([\s\S]*?)\s*-->$/;
const TABLE_RULE = /^\|[\s:|-]+\|$/;

/** A cursor over lines; every reader takes at least one. */
interface Reader {
  readonly lines: readonly string[];
  next: number;
}

function parseLines(lines: readonly string[], ids: Map<string, number>): Block[] {
  const reader: Reader = { lines, next: 0 };
  const blocks: Block[] = [];
  let note: string | null = null;
  while (reader.next < lines.length) {
    const line = lines[reader.next] ?? '';
    if (line.trim() === '') reader.next += 1;
    else if (line.startsWith('<!--')) note = takeComment(reader);
    else {
      blocks.push(takeBlock(reader, line, note, ids));
      note = null;
    }
  }
  return blocks;
}

function takeBlock(reader: Reader, line: string, note: string | null, ids: Map<string, number>): Block {
  const fence = FENCE.exec(line);
  if (fence) return takeCode(reader, fence[1] ?? '', note);
  const heading = HEADING.exec(line);
  if (heading) {
    reader.next += 1;
    const [, marks = '', text = ''] = heading;
    return { kind: 'heading', level: marks.length, text, id: uniqueId(slug(text), ids) };
  }
  if (isTable(reader)) return takeTable(reader);
  if (ITEM.test(line)) return takeList(reader, /^\d/.test(line), ids);
  if (QUOTE.test(line)) return takeQuote(reader, ids);
  return takeParagraph(reader);
}

function takeComment(reader: Reader): string | null {
  const first = reader.next;
  while (reader.next < reader.lines.length && !(reader.lines[reader.next] ?? '').trimEnd().endsWith('-->')) {
    reader.next += 1;
  }
  reader.next += 1;
  const comment = reader.lines.slice(first, reader.next).join('\n').trim();
  return COMMENT.exec(comment)?.[1] ?? null;
}

function takeCode(reader: Reader, language: string, note: string | null): Block {
  const first = reader.next + 1;
  const end = reader.lines.indexOf('```', first);
  if (end === -1) throw new Error(`The code that begins in line ${reader.next + 1} has no end.`);
  reader.next = end + 1;
  return { kind: 'code', language, text: reader.lines.slice(first, end).join('\n'), note };
}

function isTable({ lines, next }: Reader): boolean {
  return (lines[next] ?? '').startsWith('|') && TABLE_RULE.test(lines[next + 1] ?? '');
}

function takeTable(reader: Reader): Block {
  const [head = [], , ...rows] = takeWhile(reader, (line) => line.startsWith('|')).map(cells);
  return { kind: 'table', head, rows };
}

/** `\|` is a bar of the text. */
function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function takeList(reader: Reader, isOrdered: boolean, ids: Map<string, number>): Block {
  const items: Block[][] = [];
  for (;;) {
    const line = reader.lines[reader.next] ?? '';
    const mark = ITEM.exec(line)?.[0];
    if (mark === undefined || /^\d/.test(line) !== isOrdered) return { kind: 'list', isOrdered, items };
    reader.next += 1;
    const rest = takeItemLines(reader, mark.length);
    items.push(parseLines([line.slice(mark.length), ...rest], ids));
  }
}

/** What is indented below an item's first line, and empty lines between. */
function takeItemLines(reader: Reader, indentation: number): string[] {
  const taken: string[] = [];
  for (; reader.next < reader.lines.length; reader.next += 1) {
    const line = reader.lines[reader.next] ?? '';
    const isIndented = line.startsWith(' '.repeat(indentation));
    const isGap = line.trim() === '' && continues(reader.lines[reader.next + 1] ?? '', indentation);
    if (!isIndented && !isGap) break;
    taken.push(line.slice(indentation));
  }
  // An empty line between two items belongs to neither.
  if ((reader.lines[reader.next] ?? '').trim() === '' && ITEM.test(reader.lines[reader.next + 1] ?? ''))
    reader.next += 1;
  return taken;
}

function continues(line: string, indentation: number): boolean {
  return line.trim() !== '' && line.startsWith(' '.repeat(indentation));
}

function takeQuote(reader: Reader, ids: Map<string, number>): Block {
  const lines = takeWhile(reader, (line) => QUOTE.test(line)).map((line) => line.replace(QUOTE, ''));
  return { kind: 'quote', blocks: parseLines(lines, ids) };
}

function takeParagraph(reader: Reader): Block {
  const [first = '', ...rest] = [
    reader.lines[reader.next++] ?? '',
    ...takeWhile(reader, (line) => line.trim() !== '' && !beginsBlock(line)),
  ];
  return { kind: 'paragraph', text: [first, ...rest].map((line) => line.trim()).join('\n') };
}

function beginsBlock(line: string): boolean {
  return [FENCE, HEADING, ITEM, QUOTE, /^<!--/, /^\|/].some((start) => start.test(line));
}

function takeWhile(reader: Reader, holds: (line: string) => boolean): string[] {
  const first = reader.next;
  while (reader.next < reader.lines.length && holds(reader.lines[reader.next] ?? '')) reader.next += 1;
  return reader.lines.slice(first, reader.next);
}

/** As GitHub tells equal headings apart. */
function uniqueId(id: string, ids: Map<string, number>): string {
  const seen = ids.get(id) ?? 0;
  ids.set(id, seen + 1);
  return seen === 0 ? id : `${id}-${seen}`;
}
