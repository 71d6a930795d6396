import type { ProjectSummary } from '@flywheel/api';
import type { ConsoleClient } from '../../console-client.ts';
import { CliError } from '../../errors.ts';

/** The project of an API key, among those of the wallet that is signed in. */
export async function findProject(console: ConsoleClient, apiKey: string): Promise<ProjectSummary> {
  const projects = await console.listProjects();
  for (const project of projects) {
    const keys = await console.listKeys(project.id);
    if (keys.some(({ prefix }) => apiKey.startsWith(prefix))) return project;
  }
  const known = projects.length === 0 ? 'has no project' : `has ${projects.length}, and none has this key`;
  throw new CliError(
    'ERR_WALLET',
    `FLYWHEEL_API_KEY is of no project of this wallet: it ${known}. Use the wallet that the project was registered with.`,
  );
}
