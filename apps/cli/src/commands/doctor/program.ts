import { isFeatureActive, MEMO_PROGRAM_ADDRESS, NO_BLOCK, sha256Hex } from '@flywheel/protocol';
import {
  decodeProgramAccount,
  decodeProgramData,
  SQUADS_PROGRAM_ADDRESS,
  SQUADS_PROGRAM_SHA256,
  UPGRADEABLE_LOADER_ADDRESS,
  withoutTrailingZeros,
} from '@flywheel/squads';
import {
  type Address,
  appendTransactionMessageInstruction,
  compileTransaction,
  createSolanaRpcFromTransport,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  type ReadonlyUint8Array,
  setTransactionMessageConfig,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import { type Node, openTransport, readAccounts } from './node.ts';

/** Checks that the Squads program of the cluster is the deployed one, byte by byte, and that it cannot be replaced. */
export async function checkProgram(node: Node, clusterName: string): Promise<Check> {
  const { squadsProgram: program, squadsConfig: config } = node.accounts;
  if (!program.exists || !program.executable) {
    if (config.exists) return ok('program', 'The Squads program is emulated: the local cluster has no copy of it.');
    const text = `The cluster (${clusterName}) has no Squads program ${SQUADS_PROGRAM_ADDRESS}.`;
    return failure('program', text, NO_PROGRAM_REMEDY);
  }
  let found: Awaited<ReturnType<typeof readProgram>>;
  try {
    found = await readProgram(node, program);
  } catch (error) {
    const text = `The bytes of the Squads program cannot be read: ${reasonOf(error)}.`;
    return warning('program', text, 'Run doctor again, or use a node that returns accounts of 1.5 MB.');
  }
  // The deployed program is immutable on mainnet only.
  const mismatch = clusterName === 'mainnet' ? failure : warning;
  const sha256 = sha256Hex(withoutTrailingZeros(found.bytes));
  if (sha256 !== SQUADS_PROGRAM_SHA256) {
    const text = `The Squads program is not the one of mainnet: its SHA-256 is ${sha256}, not ${SQUADS_PROGRAM_SHA256}.`;
    return mismatch(
      'program',
      text,
      'Do not trust it with value: costs, bounds and safety were tested with that one only.',
    );
  }
  if (found.upgradeAuthority !== null) {
    const text = `The Squads program is the one of mainnet, but ${found.upgradeAuthority} can replace it.`;
    return mismatch('program', text, 'Do not trust it with value: whoever holds that key can take every vault.');
  }
  return ok('program', `The Squads program is the one of mainnet and immutable: SHA-256 ${SQUADS_PROGRAM_SHA256}.`);
}

const NO_PROGRAM_REMEDY =
  'Every public cluster has it: use another node. flywheel localnet start includes it; a test validator needs --clone-upgradeable-program.';

/** The program has 1.5 MB, which is 2 MB of base64. */
const PROGRAM_TIMEOUT_MS = 30_000;

async function readProgram(
  { url }: Node,
  { programAddress: loader, data }: { readonly programAddress: Address; readonly data: ReadonlyUint8Array },
): Promise<{ readonly bytes: ReadonlyUint8Array; readonly upgradeAuthority: Address | null }> {
  // Older loaders hold the bytes in the account itself, and cannot replace them.
  if (loader !== UPGRADEABLE_LOADER_ADDRESS) return { bytes: data, upgradeAuthority: null };
  const dataAddress = decodeProgramAccount(data);
  if (dataAddress === null) throw new Error(`its account has ${data.length} bytes, which name no other account`);
  const rpc = createSolanaRpcFromTransport(openTransport(url, { timeoutMs: PROGRAM_TIMEOUT_MS }));
  const [account] = await readAccounts(rpc, [dataAddress]);
  const found = account ? decodeProgramData(account.data) : null;
  if (found === null) throw new Error(`${dataAddress} is not its program data`);
  return found;
}

/** Checks the feature as the service does, and that the node reads a transaction of version 1. */
export async function checkVersion1(node: Node, operator: Address | null): Promise<Check> {
  const { version1Feature: feature } = node.accounts;
  if (!feature.exists || !isFeatureActive(feature)) {
    const text = 'Transaction version 1 is not active here: the service sends version 0, several times as many.';
    return warning(
      'version-1',
      text,
      'Expect the costs of version 0 (docs/decisions, 51). The service asks every hour.',
    );
  }
  try {
    await node.rpc
      .simulateTransaction(emptyTransaction(operator ?? SQUADS_PROGRAM_ADDRESS), {
        commitment: 'confirmed',
        encoding: 'base64',
        sigVerify: false,
        replaceRecentBlockhash: true,
      })
      .send();
  } catch (error) {
    const text = `Transaction version 1 is active, but ${node.host} does not simulate one: ${reasonOf(error)}.`;
    return failure('version-1', text, 'Ask the provider to upgrade, or use a node of release 4 or newer.');
  }
  return ok('version-1', 'Transaction version 1 is active, and the node simulates it.');
}

/** A transaction of version 1 without effect. What it would cost, and whether its payer has that, does not matter. */
function emptyTransaction(payer: Address) {
  const message = pipe(
    createTransactionMessage({ version: 1 }),
    (empty) => setTransactionMessageFeePayer(payer, empty),
    (paid) => setTransactionMessageConfig({ computeUnitLimit: 10_000, loadedAccountsDataSizeLimit: 65_536 }, paid),
    (limited) => setTransactionMessageLifetimeUsingBlockhash(NO_BLOCK, limited),
    (timed) =>
      appendTransactionMessageInstruction(
        { programAddress: MEMO_PROGRAM_ADDRESS, data: new TextEncoder().encode('hi') },
        timed,
      ),
  );
  return getBase64EncodedWireTransaction(compileTransaction(message));
}
