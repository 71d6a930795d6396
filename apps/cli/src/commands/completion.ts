import { Argument, type Command, type Option } from 'commander';
import type { Context } from '../context.ts';

// Written by hand. @bomb.sh/tab 0.0.22, which has an adapter for commander, was tried in November 2026: its scripts start
// this program at each Tab, 340 to 530 ms instead of 10 ms; its bash script evaluates the words of the line, so that Tab
// runs a $(…) in them, and needs the package bash-completion; and it switches off the completion of files.

const SCRIPTS = { bash: toBash, zsh: toZsh, fish: toFish } as const;

/** `flywheel completion bash`, `zsh` and `fish` */
export function addCompletionCommand(program: Command, { output }: Context): void {
  program
    .command('completion')
    .summary('print a completion script for your shell')
    .description('Print a script that completes commands, options, their values and files in your shell.')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      '\nExample:\n  source <(flywheel completion bash)       in ~/.bashrc\n  source <(flywheel completion zsh)        in ~/.zshrc, after compinit\n  flywheel completion fish | source        in ~/.config/fish/config.fish',
    )
    .action((shell: keyof typeof SCRIPTS) => {
      const script = SCRIPTS[shell](listCommands(program));
      output.result({ shell, script }, script.trimEnd());
    });
}

interface CompletedCommand {
  /** The words after `flywheel`; empty for `flywheel` itself. */
  readonly path: readonly string[];
  readonly children: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly CompletedOption[];
  /** True if its arguments are files. */
  readonly takesFile: boolean;
}

interface CompletedOption {
  /** `--wallet`. */
  readonly flag: string;
  readonly summary: string;
  /** Kind of the value, or its choices; null if the option has no value. */
  readonly value: 'file' | 'other' | readonly string[] | null;
}

/** Lists a command and all commands below it. */
function listCommands(command: Command, path: readonly string[] = []): CompletedCommand[] {
  const children = command.commands.map((child) => ({ name: child.name(), summary: summaryOf(child) }));
  const help = { flag: '--help', summary: 'print help', value: null };
  const own: CompletedCommand = {
    path,
    children,
    options: [...command.options.map(toCompleted), help],
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  return [own, ...command.commands.flatMap((child) => listCommands(child, [...path, child.name()]))];
}

function summaryOf(command: Command): string {
  const [sentence = ''] = (command.summary() || command.description()).split(/(?<=[.:;]) /);
  return sentence.replace(/[.:;]$/, '');
}

function toCompleted({ long, short, flags, description, argChoices, required, optional }: Option): CompletedOption {
  const takesValue = required || optional;
  const isFile = /<(file|directory)>/.test(flags);
  const [summary = ''] = description.split(/[;:]/);
  return {
    flag: long ?? short ?? flags,
    summary,
    value: takesValue ? (argChoices ?? (isFile ? 'file' : 'other')) : null,
  };
}

/** For bash 3.2, the version of macOS, and later. Without an offer bash completes files (`-o default`). */
function toBash(commands: readonly CompletedCommand[]): string {
  const branch = (path: readonly string[], action: string) => `    '${path.join(' ')}') ${action} ;;`;
  const children = commands
    .filter(({ children }) => children.length > 0)
    .map(({ path, children }) => branch(path, `echo '${children.map(({ name }) => name).join(' ')}'`));
  const options = commands.map(({ path, options }) =>
    branch(path, `echo '${options.map(({ flag }) => flag).join(' ')}'`),
  );
  const values = commands.flatMap(({ path, options }) =>
    options.flatMap(({ flag, value }) => {
      if (value === null) return [];
      return [branch([...path, flag], Array.isArray(value) ? `echo '${value.join(' ')}'` : 'return')];
    }),
  );
  return `# flywheel completion bash: source <(flywheel completion bash)
_flywheel_children() {
  case "$1" in
${children.join('\n')}
  esac
}
_flywheel_options() {
  case "$1" in
${options.join('\n')}
  esac
}
_flywheel_values() {
  case "$1" in
${values.join('\n')}
    *) return 1 ;;
  esac
}
_flywheel() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" path='' word i offered
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case " $(_flywheel_children "$path") " in
      *" $word "*) path="\${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  if offered="$(_flywheel_values "\${path:+$path }$previous")"; then
    COMPREPLY=($(compgen -W "$offered" -- "$current"))
    return
  fi
  case "$current" in
    -*) offered="$(_flywheel_options "$path")" ;;
    *) offered="$(_flywheel_children "$path")" ;;
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -o default -F _flywheel flywheel
`;
}

/** For zsh; `options` and `path` are variables of zsh itself, so the script avoids these names. */
function toZsh(commands: readonly CompletedCommand[]): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const offers = commands.map(({ path, children, options, takesFile }) => {
    // A colon ends the name in _describe.
    const words = children.map(({ name, summary }) => quote(`${name.replaceAll(':', '\\:')}:${summary}`));
    const flags = options.map(({ flag, summary }) => quote(`${flag}:${summary}`));
    return [
      `    '${path.join(' ')}')`,
      `      children=(${words.join(' ')})`,
      `      flags=(${flags.join(' ')})`,
      ...(takesFile ? ['      files=1'] : []),
      '      ;;',
    ].join('\n');
  });
  const values = commands.flatMap(({ path, options }) =>
    options.flatMap(({ flag, value }) => {
      if (value === null) return [];
      const action = value === 'file' ? '_files' : Array.isArray(value) ? `compadd -- ${value.join(' ')}` : ':';
      return [`    '${[...path, flag].join(' ')}') ${action}; return ;;`];
    }),
  );
  return `#compdef flywheel
# flywheel completion zsh: source <(flywheel completion zsh)
_flywheel_offers() {
  children=() flags=() files=0
  case "$1" in
${offers.join('\n')}
  esac
}
_flywheel() {
  local at='' word files=0 i
  local -a children flags
  _flywheel_offers "$at"
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    if (( \${#children[(r)\${word}:*]} )); then
      at="\${at:+$at }$word"
      _flywheel_offers "$at"
    fi
  done
  case "\${at:+$at }\${words[CURRENT - 1]}" in
${values.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe 'option' flags
  elif (( \${#children} )); then
    _describe 'command' children
  elif (( files )); then
    _files
  fi
}
compdef _flywheel flywheel
`;
}

/** For fish: commands and options with their summaries, and files where a command takes them. */
function toFish(commands: readonly CompletedCommand[]): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const branches = commands
    .filter(({ children }) => children.length > 0)
    .map(
      ({ path, children }) =>
        `        case '${path.join(' ')}'\n            echo ${children.map(({ name }) => name).join(' ')}`,
    );
  const offers = commands.flatMap(({ path, children, options, takesFile }) => {
    const at = `complete -c flywheel -n '__flywheel_at "${path.join(' ')}"'`;
    return [
      ...children.map(({ name, summary }) => `${at} -a ${name} -d ${quote(summary)}`),
      ...options.map(({ flag, summary, value }) => {
        const words = Array.isArray(value) ? ` -a ${quote(value.join(' '))}` : '';
        const argument = value === null ? '' : value === 'file' ? ' -r -F' : ` -x${words}`;
        return `${at} -l ${flag.replace(/^--/, '')}${argument} -d ${quote(summary)}`;
      }),
      ...(takesFile ? [`${at} -F`] : []),
    ];
  });
  return `# flywheel completion fish: flywheel completion fish | source
function __flywheel_children
    switch "$argv[1]"
${branches.join('\n')}
    end
end
function __flywheel_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        if contains -- $word (string split ' ' -- (__flywheel_children "$at"))
            set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
complete -c flywheel -f
${offers.join('\n')}
`;
}
