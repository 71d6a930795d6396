import { firstParseIssue } from '@flywheel/protocol';
import type * as z from 'zod';

/** A variable of the environment. */
export interface Setting<Value> {
  readonly name: string;
  readonly schema: z.ZodType<Value>;
  /** The default, as it would stand in the environment. */
  readonly defaultText: string | null;
  readonly sentence: string;
}

export interface SettingTree {
  readonly [key: string]: Setting<unknown> | SettingTree;
}

export function setting<Value>(name: string, schema: z.ZodType<Value>, sentence: string): Setting<Value | null> {
  return { name, schema, defaultText: null, sentence };
}

export function settingWithDefault<Value>(
  name: string,
  schema: z.ZodType<Value>,
  sentence: string,
  defaultText: string,
): Setting<Value> {
  return { name, schema, defaultText, sentence };
}

/**
 * Reads the settings of a tree from the environment. The result has the shape of the tree.
 * @param sentences receives one for each invalid variable, which names its value and the values it may have.
 */
export function readTree(
  tree: SettingTree,
  environment: Readonly<Record<string, string | undefined>>,
  sentences: string[],
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tree).map(([key, node]) => [
      key,
      isSetting(node) ? readSetting(node, environment, sentences) : readTree(node, environment, sentences),
    ]),
  );
}

function readSetting(
  { name, schema, defaultText }: Setting<unknown>,
  environment: Readonly<Record<string, string | undefined>>,
  sentences: string[],
): unknown {
  // Shells and compose files pass a variable that is not set as an empty one.
  const text = environment[name] || defaultText;
  if (text === null) return null;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  // The variable is named, and not the entry of a list in it: the message says what each entry may be.
  sentences.push(`${name} ${firstParseIssue(parsed.error, name).message}.`);
  return null;
}

function isSetting(node: Setting<unknown> | SettingTree): node is Setting<unknown> {
  return 'schema' in node;
}

/** Lists the settings of a tree. */
export function flatten(tree: SettingTree): Setting<unknown>[] {
  return Object.values(tree).flatMap((node) => (isSetting(node) ? [node] : flatten(node)));
}
