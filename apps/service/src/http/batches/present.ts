import {
  type BatchStatus,
  type CompiledPipeline,
  DEFAULT_PAGE_SIZE,
  type ExecutionError,
  errorBody,
  type InitBatchResponse,
  type InitWarning,
  type PreviewBatchResponse,
  type Batch as WireBatch,
  type Ledger as WireLedger,
} from '@flywheel/api';
import { encodeInstruction, MAX_PIPELINE_BYTES, toDecimal } from '@flywheel/protocol';
import type { DailyLimit } from '../../batches/admission.ts';
import { toProblem } from '../../batches/check/check-batch.ts';
import { presentMetRule } from '../../batches/policy/evaluate.ts';
import type { Preview } from '../../batches/preview.ts';
import type { Ledger } from '../../batches/read.ts';
import type { Rest } from '../../batches/rest.ts';
import {
  type Batch,
  type BatchWithoutPipelines,
  describeExecutionIssue,
  type ExecutionIssue,
  type LedgerEntry,
  publicActions,
  toApiError,
} from '../../model/batch.ts';
import { mapInSlices } from '../../model/in-slices.ts';
import type { Page } from '../../model/page.ts';
import { leftOf, type Project, type Token } from '../../model/project.ts';
import type { Balance } from '../../model/vault-balance.ts';

/** Optional fields that a caller may request with `?include=`. */
export interface Included extends Rest {
  /** Their instructions are encoded. */
  readonly pipelines?: readonly CompiledPipeline[];
  /** null once the batch has ended; the field is then absent. */
  readonly proposalApproveTx?: string | null;
  readonly ledger?: WireLedger;
}

/** Presents a batch as the status operations answer it. */
export function presentBatch(batch: BatchWithoutPipelines, project: Project, included: Included = {}): WireBatch {
  const { multisig } = project.flywheel;
  return {
    id: batch.id,
    flywheelId: batch.flywheelId,
    tokenId: batch.tokenId,
    mintAddress: project.token.mint,
    status: batch.status,
    ...(batch.endCause !== null && { endCause: batch.endCause }),
    batchIndex: batch.batchIndex.toString(),
    vaultIndex: multisig.vaultIndex.toString(),
    multisig: multisig.address,
    vaultAddress: multisig.vault,
    ...(batch.initResult && { initResult: batch.initResult }),
    ...(batch.executeResult && { executeResult: batch.executeResult }),
    ...(batch.executionError && { executionError: presentExecutionIssue(batch.executionError, batch.status) }),
    ...(batch.awaitsCompany && { awaitsCompany: true }),
    dateCreated: batch.createdAt.toISOString(),
    dateUpdated: batch.updatedAt.toISOString(),
    ...(included.pipelines && { pipelines: [...included.pipelines] }),
    ...(included.ledger && { ledger: included.ledger }),
    ...(included.rest && { rest: included.rest }),
    ...(included.heldBack && { heldBack: included.heldBack }),
    ...(included.proposalApproveTx && { proposalApproveTx: included.proposalApproveTx }),
  };
}

/** Presents a batch as init answers it, with the approval to sign. A repeated init shows the status that the batch has now. */
export function presentInitializedBatch(
  batch: BatchWithoutPipelines,
  {
    pipelines,
    proposalApproveTx,
  }: { readonly pipelines: readonly CompiledPipeline[]; readonly proposalApproveTx: string },
  warnings: readonly InitWarning[],
): InitBatchResponse {
  return {
    proposalApproveTx,
    batch: {
      id: batch.id,
      flywheelId: batch.flywheelId,
      status: batch.status,
      pipelines: [...pipelines],
      dateCreated: batch.createdAt.toISOString(),
    },
    ...(warnings.length > 0 && { warnings: [...warnings] }),
  };
}

/** Presents lamports as text, because sums of rent exceed what a JSON number holds exactly. */
export function presentLedger({ entries, isComplete }: Ledger): WireLedger {
  const total = (lamportsOf: (entry: LedgerEntry) => bigint) =>
    entries.reduce((sum, entry) => sum + lamportsOf(entry), 0n);
  const fee = total(({ feeLamports }) => feeLamports);
  const tip = total(({ tipLamports }) => tipLamports);
  const rentOut = total(({ rentOutLamports }) => rentOutLamports);
  const rentBack = total(({ rentBackLamports }) => rentBackLamports);
  return {
    feeLamports: String(fee),
    tipLamports: String(tip),
    rentOutLamports: String(rentOut),
    rentBackLamports: String(rentBack),
    vaultRentLamports: String(total(({ vaultRentLamports }) => vaultRentLamports)),
    operatorNetLamports: String(fee + tip + rentOut - rentBack),
    isComplete,
    entries: entries.map((entry) => ({
      signature: entry.signature,
      phase: entry.phase,
      feeLamports: String(entry.feeLamports),
      tipLamports: String(entry.tipLamports),
      rentOutLamports: String(entry.rentOutLamports),
      rentBackLamports: String(entry.rentBackLamports),
      vaultRentLamports: String(entry.vaultRentLamports),
    })),
  };
}

export function presentPreview(preview: Preview, { decimals }: Pick<Token, 'decimals'>): PreviewBatchResponse {
  const { pipelines, issues, rules, warnings, funds, limits, cost } = preview;
  const tokens = (baseUnits: bigint) => toDecimal(baseUnits, decimals);
  const vaultRent = funds.missingTokenAccounts.reduce((sum, { creationLamports }) => sum + creationLamports, 0n);
  return {
    pipelines: pipelines.map(({ instructions, vaultMessage }) => ({
      instructions: instructions.map(encodeInstruction),
      bytes: vaultMessage.length,
      maxBytes: MAX_PIPELINE_BYTES,
    })),
    problems: issues.map(toProblem),
    ...(rules.length > 0 && { rules: rules.map(presentMetRule) }),
    ...(warnings.length > 0 && { warnings: [...warnings] }),
    funds: { tokens: presentBalance(funds.tokens, tokens), lamports: presentBalance(funds.lamports, String) },
    limits: { burn: presentLimit(limits.burn, tokens), airdrop: presentLimit(limits.airdrop, tokens) },
    cost: {
      feeLamports: String(cost.feeLamports),
      tipLamports: String(cost.tipLamports),
      vaultRentLamports: String(vaultRent),
      rentLockedLamports: String(cost.rentLockedLamports),
      operatorNetLamports: String(cost.feeLamports + cost.tipLamports),
    },
  };
}

/** Parses `?include=`, whose words the schema has checked. */
export function parseInclude(include: string | undefined): {
  readonly pipelines: boolean;
  readonly approval: boolean;
  readonly ledger: boolean;
  readonly rest: boolean;
} {
  const words = new Set(include?.split(','));
  return {
    pipelines: words.has('pipelines'),
    approval: words.has('approval'),
    ledger: words.has('ledger'),
    rest: words.has('rest'),
  };
}

function presentBalance({ needed, available, missing }: Balance, present: (amount: bigint) => string) {
  return { needed: present(needed), available: present(available), missing: present(missing) };
}

function presentLimit(
  { capBaseUnits: cap, usedBaseUnits: used, askedBaseUnits: asked, resetsAt }: DailyLimit,
  present: (baseUnits: bigint) => string,
) {
  return {
    cap: present(cap),
    used: present(used),
    asked: present(asked),
    left: present(leftOf(cap, used)),
    resetsAt: resetsAt.toISOString(),
  };
}

function presentExecutionIssue(issue: ExecutionIssue, status: BatchStatus): ExecutionError {
  if (issue.code === 'ERR_BATCH_EXECUTE_FAILED') {
    const next = issue.reason === undefined ? ' It is retried every few seconds.' : '';
    return { code: issue.code, message: `${describeExecutionIssue(issue, status)}${next}` };
  }
  const { error: code, ...rest } = errorBody(toApiError(issue));
  return { code, ...rest };
}

/** Presents pipelines for API keys: without the actions that exist in the console only. */
export function presentPipelines({ pipelines }: Batch): Promise<CompiledPipeline[]> {
  return mapInSlices(pipelines, ({ type, payload, actions, instructions }) => ({
    type,
    payload,
    actions: publicActions(actions),
    instructions: instructions.map(encodeInstruction),
  }));
}

export interface PageParams {
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Reads the page that a query requests. */
export function pageParams(
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit?: string | undefined },
  defaultRows = DEFAULT_PAGE_SIZE,
): PageParams {
  return { cursor, limit: limit === undefined ? defaultRows : Number(limit) };
}

/** Presents the cursor of the next page; nothing on the last page. */
export function presentNext({ nextCursor }: Pick<Page<unknown>, 'nextCursor'>): { readonly nextCursor?: string } {
  return nextCursor === null ? {} : { nextCursor };
}
