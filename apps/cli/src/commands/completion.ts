import { Argument, type Command } from 'commander';
import type { Context } from '../context.ts';
import { completeBash } from './complete-bash.ts';
import { completeFish } from './complete-fish.ts';
import { completeZsh } from './complete-zsh.ts';
import { listCommands } from './list-commands.ts';

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
