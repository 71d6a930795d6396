/**
 * Runs Agave's own `solana-test-validator` with the real Squads program, a Solana cluster that this project did not write:
 * `npm run agave`. With `--install` it builds the validator first. Nothing else of the project needs Rust.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { AGAVE_VERSION, agaveDirectory, findAgave, startAgave } from '@flywheel/testing/agave';

const BINARY = 'solana-test-validator';
/** The compiler with which this release was built and tried. */
const RUST_VERSION = '1.98.1';
const PACKAGES = 'clang libclang-dev protobuf-compiler libudev-dev cmake pkg-config libssl-dev';
/** What the build calls, with the argument that makes each print its version or find its library. */
const PROGRAMS = [
  ['clang', '--version'],
  ['protoc', '--version'],
  ['cmake', '--version'],
  ['pkg-config', '--exists libudev openssl'],
] as const;

const { values } = parseArgs({
  options: {
    install: { type: 'boolean', default: false },
    port: { type: 'string', default: '8899' },
    ledger: { type: 'string' },
    'slot-ms': { type: 'string', default: '400' },
    'without-v1': { type: 'boolean', default: false },
    'warp-slot': { type: 'string' },
    'squads-program': { type: 'string' },
  },
});

const binary = findAgave() ?? (values.install ? install() : null);
if (binary === null) fail(describeNeeds());
else await run(binary);

async function run(path: string): Promise<void> {
  const { port, ledger = join(agaveDirectory(), 'ledger'), 'warp-slot': warpSlot } = values;
  const agave = await startAgave({
    binary: path,
    port: Number(port),
    ledger,
    squadsProgram: values['squads-program'] ?? process.env.FLYWHEEL_SQUADS_PROGRAM,
    v1: !values['without-v1'],
    slotMs: Number(values['slot-ms']),
    ...(warpSlot !== undefined && { warpSlot: BigInt(warpSlot) }),
  });
  process.stdout.write(`Agave ${AGAVE_VERSION} at ${agave.url}, ledger ${ledger}. Ctrl-C stops it.\n`);
  const stop = () => void agave.stop();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
}

/** Builds the validator into the user's cache. Returns its path; null if it cannot be built. */
function install(): string | null {
  const missing = findMissing();
  if (missing.length > 0) {
    fail(`The build lacks ${missing.join(', ')}.\n${describeNeeds()}`);
    return null;
  }
  process.stderr.write(`Building ${BINARY} ${AGAVE_VERSION}. On two cores this takes about an hour.\n`);
  const root = agaveDirectory();
  const args = ['install', '--locked', 'agave-validator', '--version', AGAVE_VERSION, '--bin', BINARY, '--root', root];
  const { status } = spawnSync('cargo', [`+${RUST_VERSION}`, ...args], { stdio: 'inherit' });
  return status === 0 ? findAgave() : null;
}

function findMissing(): string[] {
  const programs = PROGRAMS.filter(([program, words]) => spawnSync(program, words.split(' ')).status !== 0);
  const { status } = spawnSync('cargo', [`+${RUST_VERSION}`, '--version']);
  return [...programs.map(([program]) => program), ...(status === 0 ? [] : [`Rust ${RUST_VERSION}`])];
}

function describeNeeds(): string {
  return `${BINARY} ${AGAVE_VERSION} was not found: not at FLYWHEEL_AGAVE, in ${agaveDirectory()}, or in PATH.
Build it once, in about an hour on two cores and with 5 GB of disk: npm run agave -- --install
That needs Rust ${RUST_VERSION} through rustup (rustup toolchain install ${RUST_VERSION} --profile minimal),
and on Debian: apt-get install ${PACKAGES}`;
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
