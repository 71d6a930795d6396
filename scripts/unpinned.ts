/** An image that a file names by tag, as `file: image`. A tag can name another image tomorrow. */
export function findTaggedImages(path: string, text: string): string[] {
  const names = [...text.matchAll(/^(?:FROM|\s*(?:- )?image:)\s+(\S+)/gm)].flatMap(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !isOwn(name) && !DIGEST.test(name)).map((name) => `${path}: ${name}`);
}

/** Packages of a lock file without a hash, as `path@version`. npm installs whatever a registry answers for them. */
export function findUnhashedPackages(lockFile: string): string[] {
  const { packages }: { packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(lockFile);
  return Object.entries(packages)
    .filter(([path, { link, integrity }]) => path.includes('node_modules/') && !link && integrity === undefined)
    .map(([path, { version }]) => `${path}@${version}`);
}

interface LockedPackage {
  readonly version?: string;
  readonly link?: boolean;
  readonly integrity?: string;
}

const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** The image that deploy/Dockerfile builds: it has a digest only after the release. */
function isOwn(name: string): boolean {
  return /^flywheel(:|$)/.test(name);
}
