import type { CompletedCommand } from './list-commands.ts';

/** For fish: commands and options with what they do, files where files are taken. */
export function completeFish(commands: readonly CompletedCommand[]): string {
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

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
