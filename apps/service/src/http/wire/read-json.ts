import { ApiError } from '@flywheel/api';
import { parseJson } from '../../model/json-number.ts';

/**
 * Parses a JSON body; undefined when the body is empty.
 * @throws ApiError ERR_INVALID_REQUEST when the bytes are not UTF-8, the text is not JSON, nests too deeply or has too
 * many values.
 */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const text = decode(bytes);
  try {
    return parseJson(text);
  } catch (error) {
    throw invalid(sentenceOf(error), error);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalid(`is not UTF-8 (${bytes.length} bytes).`, error);
  }
}

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
