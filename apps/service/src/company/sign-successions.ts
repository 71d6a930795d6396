import { encodeBase58, type KeyRole, writeSuccessionText } from '@flywheel/protocol';
import { type Address, createSignableMessage, type MessagePartialSigner } from '@solana/kit';
import type { Deps } from '../batches/deps.ts';
import { insertKeySuccession } from '../store/company/key-successions.ts';

interface SuccessionDeps extends Pick<Deps, 'db' | 'clock' | 'log'> {
  readonly chain: Pick<Deps['chain'], 'genesisHash'>;
}

/** A key with the one that it succeeds; null if there is none. */
export interface KeyChange {
  readonly role: KeyRole;
  readonly previous: MessagePartialSigner | null;
  readonly present: Address;
}

/** Long enough for a node that restarts. */
const RETRY_MS = 5_000;

/**
 * Signs with each previous key that the present one succeeds it, and stores that for registrations to publish. The start of a
 * rotation is the only moment at which both keys are certainly known. A cluster that does not answer is asked again in the
 * background, until `signal` aborts.
 */
export async function signSuccessions(
  deps: SuccessionDeps,
  changes: readonly KeyChange[],
  signal: AbortSignal,
): Promise<void> {
  const signing = changes.filter(({ previous, present }) => previous !== null && previous.address !== present);
  if (signing.length === 0 || (await trySigning(deps, signing))) return;
  void repeat(deps, signing, signal);
}

async function repeat(deps: SuccessionDeps, changes: readonly KeyChange[], signal: AbortSignal): Promise<void> {
  do {
    await deps.clock.sleep(RETRY_MS, signal).catch(() => undefined);
  } while (!signal.aborted && !(await trySigning(deps, changes)));
}

/** Returns false after an error, which is logged. */
async function trySigning(deps: SuccessionDeps, changes: readonly KeyChange[]): Promise<boolean> {
  const { db, chain, clock, log } = deps;
  try {
    const genesisHash = await chain.genesisHash();
    for (const { role, previous, present } of changes) {
      if (previous === null) continue;
      const succession = { role, from: previous.address, to: present, genesisHash };
      const signature = await signText(previous, writeSuccessionText(succession));
      const isNew = await insertKeySuccession(db, { ...succession, signature }, clock.now());
      if (isNew) log.info({ role, from: previous.address, to: present }, 'the previous key has named its successor');
    }
    return true;
  } catch (error) {
    log.warn({ err: error }, 'no successor is published: registrations need --trust until the next try succeeds');
    return false;
  }
}

async function signText(signer: MessagePartialSigner, text: string): Promise<string> {
  const [signatures] = await signer.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[signer.address];
  if (!signature) throw new Error(`${signer.address} returned no signature.`);
  return encodeBase58(signature);
}
