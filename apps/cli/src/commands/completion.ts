import { Argument, type Command } from 'commander';
import { completeBash } from '../completion/bash.ts';
import { completeFish } from '../completion/fish.ts';
import { listCommands } from '../completion/list-commands.ts';
import { completeZsh } from '../completion/zsh.ts';
import type { Context } from '../context.ts';

const SCRIPTS = { bash: completeBash, zsh: completeZsh, fish: completeFish } as const;

/** `flywheel completion bash`, `zsh` and `fish` */
export function addCompletionCommand(program: Command, { output }: Context): void {
  program
    .command('completion')
    .summary('print a shell’s completion script')
    .description('Print a script that lets a shell complete commands, options and files.')
    .addArgument(new Argument('<shell>', 'yours').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      '\nExample:\n  source <(flywheel completion bash)       in ~/.bashrc\n  source <(flywheel completion zsh)        in ~/.zshrc, after compinit\n  flywheel completion fish | source        in ~/.config/fish/config.fish',
    )
    .action((shell: keyof typeof SCRIPTS) => {
      const script = SCRIPTS[shell](listCommands(program));
      output.result({ shell, script }, script.trimEnd());
    });
}
