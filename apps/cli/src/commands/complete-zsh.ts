import type { CompletedCommand } from './list-commands.ts';

/** For zsh: commands and options with what they do, files where files are taken. `options` and `path` are zsh’s own. */
export function completeZsh(commands: readonly CompletedCommand[]): string {
  const offers = commands.map(({ path, children, options, takesFile }) => {
    const words = children.map(({ name, summary }) => quote(`${colonless(name)}:${summary}`));
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

/** A colon ends the name. */
function colonless(name: string): string {
  return name.replaceAll(':', '\\:');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
