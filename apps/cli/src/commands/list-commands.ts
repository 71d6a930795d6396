import type { Command, Option } from 'commander';

/** A command, as a shell needs to know it. */
export interface CompletedCommand {
  /** Its words after `flywheel`; empty for `flywheel` itself. */
  readonly path: readonly string[];
  readonly children: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly CompletedOption[];
  /** Whether its arguments are files. */
  readonly takesFile: boolean;
}

export interface CompletedOption {
  /** `--wallet`. */
  readonly flag: string;
  readonly summary: string;
  /** What follows it; null when nothing does. */
  readonly value: 'file' | 'other' | readonly string[] | null;
}

/** Every command below this one, itself first. */
export function listCommands(command: Command, path: readonly string[] = []): CompletedCommand[] {
  const children = command.commands.map((child) => ({ name: child.name(), summary: summaryOf(child) }));
  const help = { flag: '--help', summary: 'say more about it', value: null };
  const own: CompletedCommand = {
    path,
    children,
    options: [...command.options.map(optionOf), help],
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  return [own, ...command.commands.flatMap((child) => listCommands(child, [...path, child.name()]))];
}

function summaryOf(command: Command): string {
  const [sentence = ''] = (command.summary() || command.description()).split(/(?<=[.:;]) /);
  return sentence.replace(/[.:;]$/, '');
}

function optionOf({ long, short, flags, description, argChoices, required, optional }: Option): CompletedOption {
  const takesValue = required || optional;
  const isFile = /<(file|directory)>/.test(flags);
  const [summary = ''] = description.split(/[;:]/);
  return {
    flag: long ?? short ?? flags,
    summary,
    value: !takesValue ? null : (argChoices ?? (isFile ? 'file' : 'other')),
  };
}
