import { BUNDLES_PATH, groupDigits, pluralize, publicClusterOf } from '@flywheel/protocol';
import type { Config, Tips } from '@flywheel/service';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import { type Node, readAccounts, TIMEOUT_MS } from './node.ts';

interface Service {
  readTips(blockEngineUrl: string, timeoutMs: number): Promise<Tips>;
}

/**
 * Checks that the block engine answers, that its tip accounts exist on this cluster, and that the service would pay its
 * floor.
 */
export async function checkBlockEngine(
  node: Node,
  { blockEngineUrl, solanaRpcUrls, maxTipLamports }: Config,
  { readTips }: Service,
): Promise<Check> {
  const url = blockEngineUrl ?? (solanaRpcUrls === null ? `${node.url}${BUNDLES_PATH}` : null);
  if (url === null) return checkWithout(node);
  const name = `The block engine ${new URL(url).host}`;
  let tips: Tips;
  let missing: string | undefined;
  try {
    tips = await readTips(url, TIMEOUT_MS);
    const accounts = await readAccounts(node.rpc, tips.accounts);
    missing = tips.accounts.find((_, index) => !accounts[index]);
  } catch (error) {
    return failure('block-engine', `${name} does not answer: ${reasonOf(error)}.`, NO_ANSWER_REMEDY);
  }
  const { accounts, floorLamports } = tips;
  if (missing !== undefined) {
    const text = `${name} names ${pluralize(accounts.length, 'tip account')}, of which ${missing} does not exist on this cluster.`;
    return failure('block-engine', text, 'Set JITO_BLOCK_ENGINE_URL to an engine of this cluster.');
  }
  const answers = `${name} answers, and its ${pluralize(accounts.length, 'tip account')} exist`;
  if (floorLamports === null) {
    const text = `${answers}, but its tip floor cannot be read: bundles offer the smallest tip at first.`;
    return warning('block-engine', text, 'Allow requests to the host that publishes the floor, e.g. bundles.jito.wtf.');
  }
  const median = groupDigits(String(floorLamports));
  if (floorLamports > maxTipLamports) {
    const text = `${answers}, but half of its bundles tip ${median} lamports or more, and MAX_TIP_LAMPORTS is ${groupDigits(String(maxTipLamports))}.`;
    return warning('block-engine', text, 'Raise MAX_TIP_LAMPORTS, or expect bundles to land late.');
  }
  return ok('block-engine', `${answers}. Half of its bundles tip ${median} lamports or more.`);
}

const NO_ANSWER_REMEDY =
  'Check JITO_BLOCK_ENGINE_URL. Without the variable transactions are sent in order over RPC; with it nothing is sent meanwhile.';

function checkWithout({ genesisHash }: Node): Check {
  const text = 'JITO_BLOCK_ENGINE_URL is not set: transactions are sent in order over RPC, not as bundles.';
  if (publicClusterOf(genesisHash) !== 'mainnet') return ok('block-engine', text);
  return warning('block-engine', text, 'Set it to a block engine near this machine (docs.jito.wtf).');
}
