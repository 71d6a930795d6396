import { ApiError } from '@flywheel/api';
import { parseJson } from '../../model/json-number.ts';

/**
 * Parses a JSON body; undefined when the body is empty.
 * @throws ApiError ERR_INVALID_REQUEST when the bytes are not UTF-8, the text is not JSON or nests too deeply.
 */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  requireShallow(text);
  try {
    return parseJson(text);
  } catch (error) {
    throw invalid(sentenceOf(error), error);
  }
}

/**
 * Later code walks the parsed value by recursion, and a call stack holds about ten thousand frames. The deepest useful
 * body, a proof type with a JSON Schema, is far shallower than this.
 */
const MAX_DEPTH = 64;

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalid(`is not UTF-8 (${bytes.length} bytes).`, error);
  }
}

function requireShallow(text: string): void {
  let depth = 0;
  let inString = false;
  for (let position = 0; position < text.length; position++) {
    const code = text.charCodeAt(position);
    if (inString) {
      if (code === BACKSLASH) position++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) {
      inString = true;
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > MAX_DEPTH) throw invalid(`nests deeper than ${MAX_DEPTH} levels, at character ${position + 1}.`);
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      depth--;
    }
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function sentenceOf(error: unknown): string {
  const message = error instanceof SyntaxError ? error.message : '';
  const ownWords = /^The JSON (.+)$/.exec(message)?.[1];
  if (ownWords !== undefined) return ownWords;
  // V8's message quotes short texts whole, and they may hold a secret; the position is enough.
  const position = /at position (\d+)/.exec(message)?.[1];
  return `is not JSON${position === undefined ? '' : ` from character ${Number(position) + 1} on`}.`;
}

function invalid(problem: string, cause?: unknown): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: 'body', problem }, { cause });
}
