import { isNodeFailure } from '@flywheel/solana-rpc';
import { isBehind } from './floor.ts';

/** A node does not show yet what is known to be on chain. */
export class NodeBehind extends Error {}

/** Returns true if an error, or its cause, says that a node is out of reach, refuses to answer, or is behind the cluster. */
export function isNodeUnavailable(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof NodeBehind || isNodeFailure(each) || isBehind(each)) return true;
  }
  return false;
}
