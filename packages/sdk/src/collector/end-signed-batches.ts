import type { RpcUrl } from '@flywheel/solana-rpc';
import { readEnd } from '../audit/batch-end.ts';
import { FlywheelError } from '../errors.ts';
import { openJournal } from './journal.ts';
import { NO_VERDICT, recordExecuted } from './judge.ts';
import { groupByPosition } from './merge.ts';
import { writeEnd } from './pay-batch.ts';
import type { CollectorStore, SignedProposal } from './store.ts';

/**
 * An open batch that the wallet has signed, and what the chain shows of it. Numbers are of events, of which several may share
 * a pipeline.
 */
export interface SignedBatch extends SignedProposal {
  /**
   * `over`: the batch has ended, and its events are paid or pending again. `executable`: Squads could still execute the
   * rest, so that nothing has changed. The wallet alone can reject an active proposal; an approved one ends with the cancel
   * votes of the wallet and of the company.
   */
  readonly state: 'over' | 'executable';
  /** Number of its events that the chain shows as paid. */
  readonly paid: number;
  /** Number of its other events. */
  readonly unpaid: number;
}

/**
 * Ends the open batches of a store that the wallet has signed, by what the finalized chain shows, and asks the service for
 * nothing: it is for a service that was restored from a backup and has forgotten them, at which a collector stops with
 * `ERR_CHAIN_MISMATCH`. Events of executed pipelines are paid, the others of an ended batch are pending again. Stop the
 * collector before: this begins an epoch of its own. Repeating it is safe. The store stays open, for the next collector.
 * @param options `rpcUrl`: a Solana node that you trust, or several of one cluster, with the history of transactions.
 * @throws FlywheelError `ERR_UNEXPECTED_REPLY` if the accounts of a batch are closed and no node has their history,
 * `ERR_CHAIN_MISMATCH` if one has executed more pipelines than the store knows, `ERR_COLLECTOR_REPLACED` if a collector
 * begins meanwhile, and every error of the store.
 */
export async function endSignedBatches(
  store: CollectorStore,
  { rpcUrl, signal }: { readonly rpcUrl: RpcUrl; readonly signal?: AbortSignal },
): Promise<readonly SignedBatch[]> {
  const { signal: never } = new AbortController();
  const journal = await openJournal(store, { signal: never, onWritten: () => undefined });
  await journal.claim();
  const found: SignedBatch[] = [];
  for (const batch of await store.readBatches()) {
    const { signed } = batch;
    if (signed === null) continue;
    const items = await store.read({ batchKey: batch.key });
    const { executed, state } = await readEnd(rpcUrl, signed, signal);
    const pipelines = groupByPosition(items).size;
    if (executed > pipelines) {
      const message = `The batch with index ${signed.batchIndex} of the multisig ${signed.multisig} has executed ${executed} pipelines, and the store knows only ${pipelines}. Nothing of it was changed.`;
      throw new FlywheelError({ code: 'ERR_CHAIN_MISMATCH', message, batchId: signed.batchId });
    }
    if (state === 'over') {
      await writeEnd({ journal }, { batch, items, verdict: NO_VERDICT }, (ending) =>
        recordExecuted(ending, signed, executed),
      );
    }
    const paid = items.filter(({ position }) => position !== null && position < executed).length;
    found.push({
      ...signed,
      state: state === 'over' ? 'over' : 'executable',
      ...{ paid, unpaid: items.length - paid },
    });
  }
  return found;
}
