import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { projectsQuery } from '../../lib/api/projects.ts';
import { shorten, tokenName } from '../../lib/format.ts';
import { type Go, PaletteItem } from './palette-item.tsx';

/** The wallet’s projects, by token, vault or id. */
export function ProjectItems({ go }: { readonly go: Go }) {
  const navigate = useNavigate();
  const { data } = useQuery(projectsQuery);
  return data?.projects.map(({ id, token, vaultAddress }) => (
    <PaletteItem
      key={id}
      value={`project ${tokenName(token)} ${token.mint} ${vaultAddress} ${id}`}
      onSelect={go(() => navigate({ to: '/p/$projectId', params: { projectId: id } }))}
    >
      Project {tokenName(token)}
      <span className="ml-2 font-mono text-sm text-quiet">{shorten(token.mint)}</span>
    </PaletteItem>
  ));
}
