/** A part of the page's code did not load: the service is away, or was upgraded since and has other files. */
export class CodeNotLoaded extends Error {}

/**
 * Loads code that the first page does not have.
 * @throws CodeNotLoaded
 */
export async function loadCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (cause) {
    throw new CodeNotLoaded(
      'A part of this page could not be loaded: the service does not answer, or it was upgraded since the page was opened. Reload the page.',
      { cause },
    );
  }
}
