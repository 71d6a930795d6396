import { ApiError } from '@flywheel/api';
import { parseJson } from '../../model/json-number.ts';

/**
 * A body's JSON; undefined when the body is empty.
 * @throws ApiError ERR_INVALID_REQUEST when the bytes are not UTF-8, the text is not JSON or nests too deeply.
 */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  requireShallow(text);
  try {
    return parseJson(text);
  } catch (error) {
    throw invalid(problemOf(error), error);
  }
}

/**
 * What is parsed here is walked by recursion later, and a stack of calls holds some ten thousand. The deepest body
 * that means anything is a proof type with a JSON Schema, far shallower than this.
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

function problemOf(error: unknown): string {
  const message = error instanceof SyntaxError ? error.message : '';
  const ownWords = /^The JSON (.+)$/.exec(message)?.[1];
  if (ownWords !== undefined) return ownWords;
  // V8's message quotes a short text whole, which may hold a secret; where the fault is says as much.
  const position = /at position (\d+)/.exec(message)?.[1];
  return `is not JSON${position === undefined ? '' : ` from character ${Number(position) + 1} on`}.`;
}

function invalid(problem: string, cause?: unknown): ApiError {
  return new ApiError('ERR_INVALID_REQUEST', { place: 'body', problem }, { cause });
}
