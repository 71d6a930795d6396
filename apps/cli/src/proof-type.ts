import type { ProofType } from '@flywheel/api';
import { InvalidArgumentError } from 'commander';

/** Parses `TYPE` or `TYPE:description`, and adds it to those before it. */
export function addProofType(text: string, previous: readonly ProofType[]): ProofType[] {
  const [, type, description] = /^([A-Za-z0-9_-]{1,64})(?::(.+))?$/s.exec(text) ?? [];
  if (type === undefined) {
    throw new InvalidArgumentError('It must be TYPE or TYPE:description, the type 1 to 64 of A-Z a-z 0-9 _ -.');
  }
  return [...previous, { type, ...(description === undefined ? {} : { description }) }];
}
