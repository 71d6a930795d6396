import {
  type BatchEvent,
  type CancelBatchResponse,
  DEFAULT_WAIT_SECONDS,
  type EventStream,
  isFinalStatus,
  MAX_WAIT_SECONDS,
} from '@flywheel/api';
import { type CancelRequest, cancelBatch } from '../../batches/cancel.ts';
import type { Deps } from '../../batches/deps.ts';
import { type EventDeps, readEvents, streamEvents } from '../../batches/events.ts';
import { type InitDeps, type InitRequest, initBatch } from '../../batches/init.ts';
import { type PreviewDeps, previewBatch } from '../../batches/preview.ts';
import { buildApproval, type RequestedBatch, readApproval } from '../../batches/read.ts';
import { mayHaveRest, type Rest, readRest } from '../../batches/rest.ts';
import type { BatchWithoutPipelines } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import type { StreamLimit } from '../operations/events.ts';
import type { PipelineReader, WorkLimits } from '../operations/work-limits.ts';
import { presentInitializedBatch, presentPipelines, presentPreview } from './present.ts';

/** A sensible polling interval for a batch that is being executed. */
const POLL_AFTER_SECONDS = 2;

/** Replies to init, for API keys and the console alike. */
export async function replyToInit(deps: InitDeps & { readonly work: WorkLimits }, request: InitRequest) {
  const { project } = request;
  deps.work.countCompiled(request, request.body);
  const { batch, warnings, replayed } = await initBatch(deps, request);
  // readApproval returns null for an ended batch. The contract requires the field, so a replay answers the original approval.
  const proposalApproveTx =
    (replayed ? await readApproval(deps, project, batch) : null) ?? buildApproval(project, batch);
  return {
    status: 200 as const,
    body: presentInitializedBatch(batch, { pipelines: await presentPipelines(batch), proposalApproveTx }, warnings),
    ...replayHeaders(replayed),
  };
}

/** Marks a reply that repeats an earlier one. */
export function replayHeaders(replayed: boolean) {
  return replayed ? { headers: { 'idempotency-replayed': 'true' } } : {};
}

/** Replies to preview, for API keys and the console alike. */
export async function replyToPreview(
  deps: PreviewDeps & { readonly work: WorkLimits },
  request: Omit<InitRequest, 'idempotencyKey'>,
) {
  const { id, token } = request.project;
  deps.work.countCompiled(request, request.body);
  const preview = await deps.work.run('previews', id, () => previewBatch(deps, request));
  return { status: 200 as const, body: presentPreview(preview, token) };
}

interface Cancel extends CancelRequest {
  /** The Prefer header. */
  readonly prefer: string | undefined;
  readonly signal: AbortSignal;
  /** The path of the batch. */
  readonly location: string;
  /** The caller, whose reading of the rest is counted. */
  readonly reader: PipelineReader;
}

/** Replies to cancel, for API keys and the console alike. Waits as long as the request prefers. */
export async function replyToCancel(
  deps: Deps & EventDeps & { readonly work: WorkLimits },
  project: Project,
  { prefer, signal, location, reader, ...asked }: Cancel,
) {
  const preferred = parsePreferredWait(prefer);
  const requested = await cancelBatch(deps, project, asked, { waitMs: preferred.seconds * 1_000, signal });
  const { batch, cancelTx } = requested;
  if (!isFinalStatus(batch.status)) return pendingReply(batch, preferred, location);
  const body: CancelBatchResponse = {
    batchId: batch.id,
    status: batch.status,
    ...(cancelTx !== null && { cancelTx }),
    ...(await readRestOf(deps, project, requested, reader)),
  };
  return { status: 200 as const, body, headers: appliedPreference(preferred) };
}

/**
 * Reads the rest of a batch for the reply to cancel or execute. Counts its pipelines only if the batch had ended before, because
 * a request that has ended one must not be answered as refused.
 * @throws ApiError ERR_RATE_LIMITED
 */
export async function readRestOf(
  deps: Pick<Deps, 'db' | 'clock'> & { readonly work: WorkLimits },
  project: Project,
  { batch, hadEnded }: RequestedBatch,
  reader: PipelineReader,
): Promise<Rest> {
  const read = () => readRest(deps, project, batch);
  return hadEnded && mayHaveRest(batch) ? deps.work.readPipelines(reader, batch.pipelineCount, read) : read();
}

/** Replies 202: the batch has not ended; its location and when to poll it. */
export function pendingReply(
  { id: batchId, status }: BatchWithoutPipelines,
  preferred: PreferredWait,
  location: string,
) {
  const headers = { ...appliedPreference(preferred), location, 'retry-after': String(POLL_AFTER_SECONDS) };
  return { status: 202 as const, body: { batchId, status }, headers };
}

/** Names the preference that was applied (RFC 7240, section 3); no header if the request gave none. */
export function appliedPreference({ isGiven, seconds }: PreferredWait): { readonly [name: string]: string } {
  return isGiven ? { 'preference-applied': `wait=${seconds}` } : {};
}

export interface PreferredWait {
  readonly seconds: number;
  /** False when the request gave no preference. */
  readonly isGiven: boolean;
}

/** Parses `Prefer: wait=SECONDS` (RFC 7240). Invalid preferences are ignored, as the RFC demands; longer waits are cut. */
export function parsePreferredWait(header: string | undefined): PreferredWait {
  for (const preference of header?.split(',') ?? []) {
    const seconds = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/i.exec(preference)?.[1];
    if (seconds !== undefined) return { seconds: Math.min(Number(seconds), MAX_WAIT_SECONDS), isGiven: true };
  }
  return { seconds: DEFAULT_WAIT_SECONDS, isGiven: false };
}

export interface StreamDeps extends EventDeps {
  readonly streams: StreamLimit;
  readonly work: WorkLimits;
}

/**
 * Replies with the events of a batch that the caller may read. If none can follow, because the caller has received the last one
 * or old ones were dropped, replies 204, the status after which an EventSource does not reconnect (HTML, "Server-sent events").
 */
export async function replyWithEvents(
  deps: StreamDeps,
  { batchId, projectId, holder, lastEventId }: EventsRequest,
): Promise<EventsReply> {
  const after = BigInt(lastEventId ?? 0);
  const { events, isLast } = await readEvents(deps, batchId, after);
  if (isLast && events.length === 0) return { status: 204, body: null };
  await deps.work.countStream({ holder, projectId });
  return {
    status: 200,
    body: (signal) => {
      deps.streams.take({ holder, projectId }, signal);
      return streamEvents(deps, batchId, after, signal);
    },
  };
}

interface EventsRequest {
  readonly batchId: string;
  readonly projectId: string;
  /** The key or wallet whose streams are counted together. */
  readonly holder: string;
  /** The Last-Event-ID header. */
  readonly lastEventId: string | undefined;
}

type EventsReply =
  | { readonly status: 200; readonly body: EventStream<BatchEvent> }
  | { readonly status: 204; readonly body: null };
