import type { Address, MaybeEncodedAccount } from '@solana/kit';
import { z } from 'zod';
import { encodeNotified } from '../encoding/account-encoding.ts';
import { emptyAccount } from '../ledger/account-journal.ts';
import type { ExecutedAttempt, Ledger } from '../ledger/ledger.ts';
import type { Commitment } from '../ledger/slots.ts';
import type { TransactionRecord } from '../ledger/store/transaction-record.ts';
import { decodeAccount } from '../ledger/svm-accounts.ts';
import { subscriptionFilters } from '../rpc/account-filters.ts';
import {
  accountConfig,
  addressParam,
  contextParam,
  encodingParam,
  optionalConfig,
  parseParams,
  signatureParam,
  whole,
  withoutParams,
} from '../rpc/params.ts';

/** Callbacks of a subscription; their return values are the results of its notifications. */
export interface Subscription {
  /** Name of the notification, e.g. `slotNotification`. */
  readonly notification: string;
  /** Commitment of the notifications. */
  readonly commitment: Commitment;
  /** At every commitment: called for each executed transaction, before the others. */
  onReceived?(executed: ExecutedAttempt): readonly unknown[];
  /** For `processed`: called for each executed transaction. */
  onTransaction?(executed: ExecutedAttempt): readonly unknown[];
  /** For the other commitments: called for the bank of each slot that has reached it. */
  onBank?(slot: bigint): readonly unknown[];
  /** Called at the start of a slot. */
  onSlot?(): readonly unknown[];
  /** Called at once, at every commit and at every slot; the first result is the last notification. */
  once?(): readonly unknown[];
}

const pubkeyParam = named('pubkey', addressParam);
const signatureConfig = optionalConfig({ ...contextParam, enableReceivedNotification: z.boolean().nullish() });
const mentions = z.object({ mentions: z.array(z.string()) });
const logsFilter = z
  .union([z.enum(['all', 'allWithVotes']), mentions])
  .refine(
    (filter) => typeof filter === 'string' || filter.mentions.length === 1,
    whole('Invalid Request: Only 1 address supported'),
  )
  .transform((filter) => (typeof filter === 'string' ? undefined : filter.mentions[0]))
  .pipe(named('mentions', addressParam).optional());
const programConfig = optionalConfig({
  ...contextParam,
  encoding: encodingParam.optional(),
  filters: subscriptionFilters.nullish(),
});

type ReadAccount = (address: Address) => MaybeEncodedAccount;

/** The subscriptions of Solana's WebSocket API by method name. Each reads its parameters and throws CallError. */
export function subscriptionKinds(
  ledger: Ledger,
): Readonly<Record<string, (params: readonly unknown[]) => Subscription>> {
  const { slots } = ledger;
  const { history } = ledger.node;
  const at = (slot: bigint, value: unknown) => ({ context: { slot }, value });
  const processed: ReadAccount = (address) => ledger.node.bank('processed').account(address);
  return {
    signatureSubscribe: (params) => {
      const [signature, config] = parseParams([named('signature', signatureParam), signatureConfig], params);
      const { commitment } = config;
      return {
        notification: 'signatureNotification',
        commitment,
        onReceived: ({ record }) =>
          config.enableReceivedNotification && record.signature === signature
            ? [at(record.slot, 'receivedSignature')]
            : [],
        once: () => {
          const summary = history.summary(signature);
          return summary && summary.slot <= slots.at(commitment) ? [at(summary.slot, { err: summary.err })] : [];
        },
      };
    },
    // Notifications have whole accounts, even if a slice is asked for, as those of a validator.
    accountSubscribe: (params) => {
      const [address, { commitment, encoding }] = parseParams([pubkeyParam, accountConfig], params);
      const notify = (slot: bigint, [before, after]: readonly MaybeEncodedAccount[], read: ReadAccount) => {
        if (!before?.exists && !after?.exists) return [];
        return [at(slot, encodeNotified(after?.exists ? after : emptyAccount(address), { encoding }, read))];
      };
      return {
        notification: 'accountNotification',
        commitment,
        onTransaction: ({ record, before, after }) => {
          const states = [before.get(address), after.get(address)].filter((held) => held !== undefined);
          if (!after.has(address)) return [];
          return notify(
            record.slot,
            states.map((held) => decodeAccount(address, held)),
            processed,
          );
        },
        onBank: (slot) => {
          if (!ledger.writtenIn(slot).has(address)) return [];
          const { account } = ledger.bankAt(slot);
          return notify(slot, [ledger.bankAt(slot - 1n).account(address), account(address)], account);
        },
      };
    },
    programSubscribe: (params) => {
      const [program, config] = parseParams([pubkeyParam, programConfig], params);
      const notify = (slot: bigint, accounts: readonly MaybeEncodedAccount[], read: ReadAccount) =>
        accounts.flatMap((account) =>
          account.exists &&
          account.programAddress === program &&
          (config.filters ?? []).every(({ passes }) => passes(account))
            ? [
                at(slot, {
                  pubkey: account.address,
                  account: encodeNotified(account, { encoding: config.encoding }, read),
                }),
              ]
            : [],
        );
      return {
        notification: 'programNotification',
        commitment: config.commitment,
        onTransaction: ({ record, after }) =>
          notify(
            record.slot,
            Array.from(after, ([address, held]) => decodeAccount(address, held)),
            processed,
          ),
        onBank: (slot) => {
          const { account } = ledger.bankAt(slot);
          return notify(slot, Array.from(ledger.writtenIn(slot), account), account);
        },
      };
    },
    logsSubscribe: (params) => {
      const [address, { commitment }] = parseParams([logsFilter, optionalConfig(contextParam)], params);
      const notify = ({ slot, signature, err, meta }: TransactionRecord) =>
        at(slot, { signature, err, logs: meta.logMessages });
      return {
        notification: 'logsNotification',
        commitment,
        onTransaction: ({ record, before }) => (address === undefined || before.has(address) ? [notify(record)] : []),
        onBank: (slot) => {
          const records = history.transactionsIn(slot);
          if (address === undefined) return records.map(notify);
          const page = { limit: records.length, before: null, until: null, newestSlot: slot };
          const mentioning = new Set(history.transactionsOf(address, page).map(({ signature }) => signature));
          return records.filter(({ signature }) => mentioning.has(signature)).map(notify);
        },
      };
    },
    slotSubscribe: withoutParams(() => ({
      notification: 'slotNotification',
      commitment: 'processed',
      onSlot: () => [{ parent: slots.current() - 1n, root: slots.at('finalized'), slot: slots.current() }],
    })),
    slotsUpdatesSubscribe: withoutParams(() => ({
      notification: 'slotsUpdatesNotification',
      commitment: 'processed',
      onSlot: () => {
        const timestamp = Date.now();
        const [slot, complete] = [slots.current(), slots.at('confirmed')];
        return [
          { type: 'completed', slot: complete, timestamp },
          { type: 'frozen', slot: complete, timestamp, stats: statsOf(history.transactionsIn(complete)) },
          { type: 'optimisticConfirmation', slot: complete, timestamp },
          { type: 'createdBank', slot, parent: complete, timestamp },
          { type: 'root', slot: slots.at('finalized'), timestamp },
        ];
      },
    })),
    rootSubscribe: withoutParams(() => {
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
    }),
  };
}

/** Counts the transactions of a block, each of which is an entry of its own. */
function statsOf(records: readonly TransactionRecord[]) {
  const failed = records.filter(({ err }) => err !== null).length;
  return {
    numTransactionEntries: records.length,
    numSuccessfulTransactions: records.length - failed,
    numFailedTransactions: failed,
    maxTransactionsPerEntry: records.length > 0 ? 1 : 0,
  };
}

/** Reads a key like a method of HTTP, with the error that subscriptions have (rpc_pubsub, param). */
function named<T extends z.ZodType>(name: string, key: T) {
  return z.string().transform((text, context): z.output<T> => {
    const read = key.safeParse(text);
    if (read.success) return read.data;
    context.addIssue({ code: 'custom', ...whole(`Invalid Request: Invalid ${name} provided`) });
    return z.NEVER;
  });
}
