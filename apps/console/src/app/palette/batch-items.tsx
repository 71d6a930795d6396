import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { recentBatchesQuery } from '../../lib/api/batches.ts';
import { projectsQuery } from '../../lib/api/projects.ts';
import { shorten, tokenName } from '../../lib/format.ts';
import { type Go, PaletteItem } from './palette-item.tsx';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Of the project at hand: enough to find by number what one has in mind. */
const FOUND_BY_NUMBER = 50;

export interface BatchItemsProps {
  readonly text: string;
  /** Of the screen at hand, if it is a project’s. */
  readonly projectId: string | undefined;
  readonly go: Go;
}

/** Batches: by number in the project at hand, by id in any. */
export function BatchItems({ text, projectId, go }: BatchItemsProps) {
  const navigate = useNavigate();
  const { data: known } = useQuery({
    ...recentBatchesQuery(projectId ?? '', FOUND_BY_NUMBER),
    enabled: projectId !== undefined && text !== '',
    refetchInterval: false,
  });
  const { data: projects } = useQuery({ ...projectsQuery, enabled: UUID.test(text) });
  const open = (inProject: string, batchId: string) =>
    go(() => navigate({ to: '/p/$projectId/batches/$batchId', params: { projectId: inProject, batchId } }));
  if (UUID.test(text)) {
    const ids = projectId === undefined ? (projects?.projects ?? []).map(({ id }) => id) : [projectId];
    const nameOf = (id: string) => {
      const token = projects?.projects.find((project) => project.id === id)?.token;
      return token ? ` of ${tokenName(token)}` : '';
    };
    return ids.map((id) => (
      <PaletteItem key={id} value={`batch ${text} ${id}`} onSelect={open(id, text)}>
        Batch {shorten(text)}
        {nameOf(id)}
      </PaletteItem>
    ));
  }
  if (projectId === undefined || text === '') return null;
  return known?.batches.map(({ id, batchIndex, status, types }) => (
    <PaletteItem key={id} value={`batch #${batchIndex} ${id} ${types.join(' ')}`} onSelect={open(projectId, id)}>
      Batch #{batchIndex}
      <span className="ml-2 text-quiet">{STATUS_WORDS[status]}</span>
    </PaletteItem>
  ));
}

const STATUS_WORDS = {
  AVAILABLE_TO_QUEUE: 'being set up',
  FINALIZED: 'open',
  EXECUTED: 'executed',
  FAILED: 'failed',
} as const;
