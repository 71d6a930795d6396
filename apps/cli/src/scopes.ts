import { Scope } from '@flywheel/api';
import { InvalidArgumentError } from 'commander';

/** Parses `burn,airdrop`. */
export function parseScopes(text: string): Scope[] {
  return [...new Set(text.split(',').map((word) => word.trim()))].map((word) => {
    const scope = Scope.safeParse(word);
    if (!scope.success) throw new InvalidArgumentError(`A scope is one of ${Scope.options.join(', ')}.`);
    return scope.data;
  });
}
