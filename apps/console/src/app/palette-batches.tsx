import { type BatchRow, isUuid } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { batchKindName, batchState } from '../features/batch/batch-summary.ts';
import { type BatchName, namedBatchQuery, recentBatchesQuery } from '../lib/api/batches.ts';
import { projectsQuery, useOwnsProject } from '../lib/api/projects.ts';
import { tokenName } from '../lib/format.ts';
import { useIsPaused } from '../lib/paused.ts';
import { Button } from '../ui/button.tsx';
import { sentenceOf } from '../ui/feedback.tsx';
import { Item, type Run } from './palette-item.tsx';

/** The batches that the palette has found for a text. */
export interface BatchSearch {
  readonly batches: readonly FoundBatch[];
  /** Value of the item of the batch that the text names; null until it is found. */
  readonly foundValue: string | null;
  /** The state of the search for the batch that the text names; `none` if it names none, or one that was found. */
  readonly state: 'none' | 'searching' | 'missing' | 'failed' | 'needsProject';
  readonly name: BatchName | null;
  readonly error: Error | null;
  readonly retry: () => void;
}

interface FoundBatch {
  readonly projectId: string;
  readonly batch: BatchRow;
  /** The project of the batch; null if it is the project of the screen. */
  readonly token: string | null;
}

/** Newest batches of the current project, which are found by any part of their text. */
const RECENT_BATCHES = 50;
/** Long enough that typing a number sends one request, too short to be noticed. */
const PAUSE_MS = 150;

/**
 * Finds batches for a text: of the current project those among the newest that match it, and any by its number; of all
 * projects of the wallet one by its id.
 * @param projectId project of the current screen, if it has one.
 */
export function useBatchSearch(text: string, projectId: string | undefined): BatchSearch {
  const name = readName(text);
  const { data } = useQuery({
    ...recentBatchesQuery(projectId ?? '', RECENT_BATCHES),
    enabled: projectId !== undefined && text !== '',
    refetchInterval: false,
  });
  const isId = name !== null && 'batchId' in name;
  const own = useQuery({ ...projectsQuery, enabled: isId });
  const recent = projectId === undefined ? [] : (data?.batches ?? []).filter((batch) => mayMatch(batch, text));
  const known = recent.find((batch) => name !== null && isNamed(batch, name));

  const ofWallet = isId ? (own.data?.projects ?? []) : [];
  const others = ofWallet.map(({ id }) => id).filter((id) => id !== projectId);
  const projectIds = [...(projectId === undefined ? [] : [projectId]), ...others];
  const isPaused = useIsPaused(text, PAUSE_MS);
  const isLoadingOwn = isId && own.data === undefined && own.isFetching;
  const isAsked = name !== null && known === undefined && isPaused && projectIds.length > 0 && !isLoadingOwn;
  const asked = useQuery({ ...namedBatchQuery(projectIds, name ?? { batchIndex: '' }), enabled: isAsked });
  const found = isAsked ? asked.data : undefined;
  const named = known ?? found?.batch;
  const error = asked.error ?? (isId ? own.error : null);
  const isSearching = !isPaused || isLoadingOwn || (isAsked && asked.data === undefined && asked.isFetching);

  const state = () => {
    if (name === null || named !== undefined) return 'none';
    if (!isId && projectId === undefined) return 'needsProject';
    if (isSearching) return 'searching';
    return error === null ? 'missing' : 'failed';
  };
  const tokenOf = (id: string) => {
    const token = ofWallet.find((project) => project.id === id)?.token;
    return id === projectId || !token ? null : tokenName(token);
  };
  return {
    batches: [
      ...(found ? [{ ...found, token: tokenOf(found.projectId) }] : []),
      ...(projectId === undefined ? [] : recent.map((batch) => ({ projectId, batch, token: null }))),
    ],
    foundValue: named ? itemValue(named) : null,
    state: state(),
    name,
    error,
    retry: () => void (own.error ? own.refetch() : asked.refetch()),
  };
}

/** `205`, `#205` or `batch 205`; of 18 digits at most, as the service takes. */
const NUMBER = /^(?:[a-z]+ +)?#?0*([1-9]\d{0,17})$/i;

/** Reads the name of a batch from a text; null if it is none. */
function readName(text: string): BatchName | null {
  if (isUuid(text)) return { batchId: text.toLowerCase() };
  const batchIndex = NUMBER.exec(text)?.[1];
  return batchIndex === undefined ? null : { batchIndex };
}

function isNamed(batch: BatchRow, name: BatchName): boolean {
  return 'batchId' in name ? batch.id === name.batchId : batch.batchIndex === name.batchIndex;
}

/** After `#` only batches whose number begins so; the palette itself compares any other text. */
function mayMatch({ batchIndex }: BatchRow, text: string): boolean {
  return batchIndex.startsWith(/^#(\d+)$/.exec(text)?.[1] ?? '');
}

/** Text of a batch's item that the palette searches. */
function itemValue({ id, kind, batchIndex, types }: BatchRow): string {
  return `${batchKindName(kind)} ${batchIndex} #${batchIndex} ${id} ${types.join(' ')}`;
}

/** Items of the batches that were found. */
export function BatchItems({ search, run }: { readonly search: BatchSearch; readonly run: Run }) {
  const navigate = useNavigate();
  return search.batches.map(({ projectId, batch, token }) => {
    const params = { projectId, batchId: batch.id };
    return (
      <Item
        key={batch.id}
        value={itemValue(batch)}
        onSelect={run(() => navigate({ to: '/p/$projectId/batches/$batchId', params }))}
      >
        {batchKindName(batch.kind)} {batch.batchIndex}
        {token !== null && ` of ${token}`}
        <StateWord projectId={projectId} batch={batch} />
      </Item>
    );
  });
}

/** Names the state of a batch as the list of batches does, for its owner or an operator of the company. */
function StateWord({ projectId, batch }: Pick<FoundBatch, 'projectId' | 'batch'>) {
  const isOwner = useOwnsProject(projectId);
  const { word } = batchState({ ...batch, isBlocked: batch.problem !== undefined, isOwner });
  return <span className="ml-2 text-quiet">{word}</span>;
}

/** Says what became of a batch that the text names and that is not in the list. */
export function BatchSearchStatus({ search }: { readonly search: BatchSearch }) {
  const { state, name, error, retry } = search;
  const batch = name && 'batchIndex' in name ? `batch ${name.batchIndex}` : 'batch with this id';
  return (
    <div role="status" className="flex items-center justify-between gap-4 px-5 text-sm text-quiet not-empty:py-3">
      {state === 'searching' && `Searching ${batch}…`}
      {state === 'missing' &&
        (name && 'batchIndex' in name
          ? `This project has no ${batch}.`
          : 'None of your projects has a batch of this id.')}
      {state === 'needsProject' && 'Open a project to find its batches by number.'}
      {state === 'failed' && (
        <>
          <span className="min-w-0 break-words">The search failed. {error && sentenceOf(error)}</span>
          <Button size="small" onClick={retry}>
            Retry
          </Button>
        </>
      )}
    </div>
  );
}
