import { LAMPORTS_PER_SOL, MAX_BUNDLE_TRANSACTIONS, MIN_TIP_LAMPORTS } from '@flywheel/protocol';
import { INVALID_PARAMS } from '@flywheel/solana-rpc';
import { z } from 'zod';
import { type BlockEngine, type Bundle, tipLamports } from '../bundle.ts';
import type { Faults } from '../faults.ts';
import { TIP_ACCOUNTS } from '../genesis.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import { optionalConfig, parseParams } from '../rpc/params.ts';
import { parseWireParam } from '../rpc/wire-param.ts';
import type { SignatureVerifier } from '../wire/signatures.ts';
import { withContext } from './context.ts';

/** Maximum of bundle ids in a status call (docs.jito.wtf). */
const MAX_BUNDLE_IDS = 5;

const bundleIds = z.array(z.string().regex(/^[0-9a-f]{64}$/, 'not a bundle id')).max(MAX_BUNDLE_IDS);
const sendConfig = optionalConfig({ encoding: z.enum(['base58', 'base64']).default('base58') });

export interface BundleDeps {
  readonly ledger: Ledger;
  readonly engine: BlockEngine;
  readonly faults: Faults;
  readonly verifier: SignatureVerifier;
  /** True if the cluster accepts transactions of version 1. */
  readonly v1: boolean;
}

/** The block engine's JSON-RPC, in Jito's shapes. */
export function bundleMethods({ ledger, engine, faults, verifier, v1 }: BundleDeps): Record<string, Method> {
  return {
    getTipAccounts: () => TIP_ACCOUNTS,
    sendBundle: async (params) => {
      const [texts, { encoding }] = parseParams([z.array(z.string()).min(1), sendConfig], params);
      if (texts.length > MAX_BUNDLE_TRANSACTIONS) {
        throw refusal(`Bundle has ${texts.length} transactions, at most ${MAX_BUNDLE_TRANSACTIONS} are accepted`);
      }
      const transactions = texts.map((text) => parseWireParam(text, encoding, v1));
      const tip = tipLamports(transactions);
      if (tip < MIN_TIP_LAMPORTS) {
        throw refusal(`Bundle tips ${tip} lamports, at least ${MIN_TIP_LAMPORTS} must go to one of the tip accounts`);
      }
      if (new Set(transactions.map(({ signature }) => signature)).size !== transactions.length) {
        throw refusal('Bundle contains a transaction twice');
      }
      const verified = await Promise.all(transactions.map(verifier.verify));
      const unverified = verified.indexOf(false);
      if (unverified >= 0) throw refusal(`Transaction ${unverified} of the bundle is not signed by all of its signers`);
      const lose = faults.takeCall('drop', 'sendBundle') !== null;
      return engine.send(transactions, { lose, landOnly: faults.takeCall('partLand', 'sendBundle')?.landed ?? null });
    },
    getInflightBundleStatuses: (params) => {
      const [ids] = parseParams([bundleIds], params);
      return withContext(
        ledger.node,
        { commitment: 'processed' },
        ids.map((id) => inflightStatus(id, engine.findInflight(id))),
      );
    },
    getBundleStatuses: (params) => {
      const [ids] = parseParams([bundleIds], params);
      return withContext(
        ledger.node,
        { commitment: 'processed' },
        ids.map((id) => landedStatus(ledger, engine.find(id))),
      );
    },
  };
}

/** Answers `GET /api/v1/bundles/tip_floor`: without competing bundles, the minimum tip is the floor. */
export function tipFloor() {
  const floorSol = Number(MIN_TIP_LAMPORTS) / LAMPORTS_PER_SOL;
  return [
    {
      time: new Date().toISOString(),
      landed_tips_25th_percentile: floorSol,
      landed_tips_50th_percentile: floorSol,
      landed_tips_75th_percentile: floorSol,
      landed_tips_95th_percentile: floorSol,
      landed_tips_99th_percentile: floorSol,
      ema_landed_tips_50th_percentile: floorSol,
    },
  ];
}

/**
 * Describes the status of a bundle. A failed one also has the transaction and its error, which the real engine does not
 * report.
 */
function inflightStatus(bundleId: string, bundle: Bundle | null) {
  if (!bundle) return { bundle_id: bundleId, status: 'Invalid', landed_slot: null };
  const { state } = bundle;
  const landedSlot = state.status === 'Landed' ? state.slot : null;
  const failure = state.status === 'Failed' ? { failed_transaction: state.failedPosition, err: state.err } : {};
  return { bundle_id: bundleId, status: state.status, landed_slot: landedSlot, ...failure };
}

function landedStatus({ slots }: Pick<Ledger, 'slots'>, bundle: Bundle | null) {
  if (bundle?.state.status !== 'Landed') return null;
  const { slot } = bundle.state;
  return {
    bundle_id: bundle.bundleId,
    transactions: bundle.signatures,
    slot,
    confirmation_status: slots.commitmentOf(slot),
    err: { Ok: null },
  };
}

function refusal(reason: string): CallError {
  return new CallError(INVALID_PARAMS, reason);
}
