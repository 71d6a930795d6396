import * as z from 'zod';

/**
 * What half of the bundles that landed of late paid at most, in lamports. Read from where the block engine’s operator
 * publishes it: for Jito’s engines a host of its own, for others below their bundle path.
 * @throws Error when it cannot be read within two seconds.
 */
export async function readTipFloorLamports(blockEngineUrl: URL): Promise<bigint> {
  const url = blockEngineUrl.hostname.endsWith('.block-engine.jito.wtf')
    ? JITO_TIP_FLOOR_URL
    : new URL(`${blockEngineUrl.pathname.replace(/\/$/, '')}/tip_floor`, blockEngineUrl.origin);
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`The tip floor was answered with HTTP ${response.status}.`);
  const [{ landed_tips_50th_percentile: floorSol }] = TipFloor.parse(await response.json());
  return BigInt(Math.ceil(floorSol * LAMPORTS_PER_SOL));
}

/** docs.jito.wtf, get tip information. */
const JITO_TIP_FLOOR_URL = new URL('https://bundles.jito.wtf/api/v1/bundles/tip_floor');
/** A bundle waits for this, so it is short. */
const TIMEOUT_MS = 2_000;
const LAMPORTS_PER_SOL = 1_000_000_000;

/** One entry, in SOL. A floor above one SOL is no floor. */
const TipFloor = z.tuple([z.object({ landed_tips_50th_percentile: z.number().min(0).max(1) })], z.unknown());
