/**
 * Lists what keeps a release back, a line each with the next step, and a sum at the end; nothing if all is pinned.
 * @param lockFile is the text of `package-lock.json`.
 */
export function reportUnpinned(files: readonly { path: string; text: string }[], lockFile: string): string[] {
  const images = files.flatMap(({ path, text }) => findTaggedImages(path, text));
  const packages = findUnhashedPackages(lockFile);
  if (images.length + packages.length === 0) return [];
  return [
    ...images.map((image) => {
      const name = image.split(': ')[1];
      return `${image} is a tag. Append its digest: docker buildx imagetools inspect ${name}`;
    }),
    ...packages.map((each) => `package-lock.json: ${each} has no hash. npm install with a registry that has it.`),
    `Not released: ${images.length} images by tag, ${packages.length} packages without a hash.`,
  ];
}

/** An image that a file names by tag, as `file: image`. A tag can name another image tomorrow. */
export function findTaggedImages(path: string, text: string): string[] {
  const defaults = new Map([...text.matchAll(ARG)].map(({ groups }) => [groups?.name, groups?.value]));
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*#(?! *syntax=)/.test(line))
    .map((line) => line.replace(/\$\{?(\w+)\}?/g, (reference, name) => defaults.get(name) ?? reference));
  const names = lines.flatMap((line) => [...line.matchAll(IMAGE)].map(({ groups }) => groups?.name ?? ''));
  const stages = new Set(lines.flatMap((line) => /^\s*FROM\s.+\sAS\s+(\S+)/i.exec(line)?.[1] ?? []));
  return [...new Set(names)]
    .filter((name) => !isOwn(name) && !stages.has(name) && !DIGEST.test(name))
    .map((name) => `${path}: ${name}`);
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

/** `FROM`, `COPY --from=` and `# syntax=` of a Dockerfile, and the key `image` in either style of YAML. */
const IMAGE =
  /(?:^\s*FROM\s+(?:--\S+\s+)*|--from=|^\s*# *syntax=|(?:^|[\s{,])["']?image["']?:\s*["']?)(?<name>[^\s"',}{]+)/gi;

/** An argument of a build with a default, which may name an image. */
const ARG = /^\s*ARG\s+(?<name>\w+)=(?<value>\S+)/gim;

const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** The image that deploy/Dockerfile builds: it has a digest only after the release. */
function isOwn(name: string): boolean {
  return /^flywheel(:|$)/.test(name);
}
