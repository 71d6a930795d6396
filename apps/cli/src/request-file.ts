import { readFile } from 'node:fs/promises';
import { CliError } from './errors.ts';

/**
 * Reads an init request’s JSON text. Whatever else is wrong with it the service says, with the place.
 * @throws CliError `ERR_FILE` when it cannot be read or is no JSON.
 */
export async function readRequestFile(path: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new CliError(
      'ERR_FILE',
      `${path} cannot be read. It must hold an init request, e.g. examples/rewards.json.`,
      {
        cause,
      },
    );
  }
  try {
    JSON.parse(text);
  } catch (cause) {
    throw new CliError('ERR_FILE', `${path} is not JSON: ${cause instanceof Error ? cause.message : cause}.`, {
      cause,
    });
  }
  return text;
}
