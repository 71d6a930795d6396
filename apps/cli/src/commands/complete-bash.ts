import type { CompletedCommand } from './list-commands.ts';

/** For bash from 3.2 on, the one of macOS. Where nothing is offered, files are (`-o default`). */
export function completeBash(commands: readonly CompletedCommand[]): string {
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

function branch(path: readonly string[], action: string): string {
  return `    '${path.join(' ')}') ${action} ;;`;
}
