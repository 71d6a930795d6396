import type { Address } from '@solana/kit';
import { z } from 'zod';
import { encodeAccount } from '../encoding/account-encoding.ts';
import { emptyAccount } from '../ledger/account-journal.ts';
import type { ExecutedAttempt, Ledger } from '../ledger/ledger.ts';
import type { Commitment } from '../ledger/slots.ts';
import { decodeAccount } from '../ledger/svm-accounts.ts';
import { accountFilters, matchesFilter } from '../rpc/account-filters.ts';
import {
  accountConfig,
  addressParam,
  contextParam,
  encodingParam,
  optionalConfig,
  parseParams,
} from '../rpc/params.ts';

/** Callbacks of a subscription; their return values are the results of its notifications. */
export interface Subscription {
  /** `slotNotification` and so on. */
  readonly notification: string;
  /** Commitment at which it is notified. */
  readonly commitment: Commitment;
  /** Called for each transaction that has reached the commitment. */
  onTransaction?(executed: ExecutedAttempt): readonly unknown[];
  /** Called when a slot has begun. */
  onSlot?(): readonly unknown[];
  /** Called at once, at every commit and at every slot; the first result is the last notification. */
  once?(): readonly unknown[];
}

const signatureParam = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/, 'not a signature');
const mentions = z.object({ mentions: z.array(addressParam).length(1, 'exactly one address') });
const logsFilter = z.union([z.enum(['all', 'allWithVotes']), mentions]);
const programConfig = optionalConfig({
  ...contextParam,
  encoding: encodingParam.optional(),
  filters: accountFilters.nullish(),
});

/** The subscriptions of Solana's WebSocket API by method name. Each reads its parameters and throws RpcError. */
export function subscriptionKinds(
  ledger: Ledger,
): Readonly<Record<string, (params: readonly unknown[]) => Subscription>> {
  const { slots, store, svm } = ledger;
  const readAccount = svm.getAccount.bind(svm);
  const at = (slot: bigint, value: unknown) => ({ context: { slot }, value });
  return {
    signatureSubscribe: (params) => {
      const [signature, { commitment }] = parseParams([signatureParam, optionalConfig(contextParam)], params);
      return {
        notification: 'signatureNotification',
        commitment,
        once: () => {
          const summary = store.summary(signature);
          return summary && summary.slot <= slots.at(commitment) ? [at(summary.slot, { err: summary.err })] : [];
        },
      };
    },
    accountSubscribe: (params) => {
      const [address, config] = parseParams([addressParam, accountConfig], params);
      return {
        notification: 'accountNotification',
        commitment: config.commitment,
        onTransaction: ({ record, before, after }) => {
          const held = after.get(address);
          if (!held || !(held.account || before.get(address)?.account)) return [];
          const account = decodeAccount(address, held);
          const shown = account.exists ? account : emptyAccount(address);
          return [at(record.slot, encodeAccount(shown, config, readAccount))];
        },
      };
    },
    programSubscribe: (params) => {
      const [program, config] = parseParams([addressParam, programConfig], params);
      return {
        notification: 'programNotification',
        commitment: config.commitment,
        onTransaction: ({ record, after }) =>
          Array.from(after, ([address, held]) => decodeAccount(address, held)).flatMap((account) =>
            account.exists &&
            account.programAddress === program &&
            (config.filters ?? []).every((entry) => matchesFilter(account, entry))
              ? [at(record.slot, { pubkey: account.address, account: encodeAccount(account, config, readAccount) })]
              : [],
          ),
      };
    },
    logsSubscribe: (params) => {
      const [filter, { commitment }] = parseParams([logsFilter, optionalConfig(contextParam)], params);
      const address: Address | undefined = typeof filter === 'string' ? undefined : filter.mentions[0];
      return {
        notification: 'logsNotification',
        commitment,
        onTransaction: ({ record, before }) =>
          address === undefined || before.has(address)
            ? [at(record.slot, { signature: record.signature, err: record.err, logs: record.meta.logMessages })]
            : [],
      };
    },
    slotSubscribe: () => ({
      notification: 'slotNotification',
      commitment: 'processed',
      onSlot: () => [{ parent: slots.current() - 1n, root: slots.at('finalized'), slot: slots.current() }],
    }),
    rootSubscribe: () => {
      let last = slots.at('finalized');
      return {
        notification: 'rootNotification',
        commitment: 'finalized',
        onSlot: () => {
          const root = slots.at('finalized');
          if (root === last) return [];
          last = root;
          return [root];
        },
      };
    },
  };
}
