import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { CONSOLE_OPERATIONS, type ProvenPipeline } from '@flywheel/api';
import { formatProofMemo, isMergedIn, type Proof } from '@flywheel/protocol';
import { type ProofVerification, verifyProofOnChain } from '@flywheel/sdk';
import { isSignature } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import type { ConsoleClient } from '../console-client.ts';
import {
  type Context,
  displayUrl,
  openConsole,
  type RpcUrlOption,
  readRpcUrls,
  resolveRpcUrls,
  type UrlOption,
} from '../context.ts';
import { CliError } from '../errors.ts';
import { readTextFile } from '../files.ts';
import { layOutPairs } from '../format.ts';
import { addRpcUrlOption, addUrlOption, parseAddress } from '../options.ts';

interface VerifyOptions extends UrlOption, RpcUrlOption {
  readonly type?: string;
  readonly payload?: string;
  readonly payloadFile?: string;
  readonly mergedPayloadFile?: string;
  readonly signature?: string;
  readonly vault?: string;
}

/** `flywheel proof verify` */
export function addProofCommands(program: Command, context: Context): void {
  const proof = program
    .command('proof')
    .summary('verify a proof on chain')
    .description('Proof memos: a vault writes one on chain for each pipeline.');

  const command = proof
    .command('verify')
    .summary('verify a proof by its event, its transaction, or both')
    .description(
      'Verify that a proof is on chain: by the event (--type and --payload), by the transaction (--signature), or by both. The node that you choose is the source; the service is only asked where to look, and not at all with --signature and --vault. Exits with 0 if proven, with 3 if not.',
    )
    .option('--type <type>', 'type of the pipeline')
    .option('--payload <json>', 'payload of the pipeline, byte for byte as it was sent')
    .option('--payload-file <file>', 'read the payload from a file; a newline at its end counts')
    .option('--merged-payload-file <file>', 'the merged payload that paid for the event together with others')
    .option('--signature <signature>', 'signature of the transaction that should contain the proof', parseSignature)
    .option(
      '--vault <address>',
      'vault that must have signed the proof; default: the one the service names',
      parseAddress,
    );
  addUrlOption(addRpcUrlOption(command))
    .addHelpText('after', '\nExample:\n  flywheel proof verify --type WATCH_AD --payload \'{"adId":"123"}\'')
    .action(async (options: VerifyOptions) => {
      const { output } = context;
      const query = await toQuery(options);
      // With both, the service is not asked, so it does not name the node either.
      const isWhole = query.signature !== null && query.vault !== null;
      const rpcUrls = isWhole ? readRpcUrls(context, options) : await resolveRpcUrls(context, options);
      const verification = await verifyProof({ rpcUrls, console: openConsole(context, options) }, query);
      const { isProven, message, proofs } = verification;
      const node = rpcUrls.map(displayUrl).join(', ');
      output.result(
        { proven: isProven, message, rpcUrl: node, proofs },
        describeVerification(verification, node, output.stdout),
      );
      if (!isProven) throw new CliError('ERR_NOT_PROVEN', `Not proven at ${node}. ${hintOf(query)}`);
    });
}

function parseSignature(text: string): string {
  if (isSignature(text)) return text;
  throw new InvalidArgumentError('It must be a transaction signature: 64 bytes in base58.');
}

interface EventQuery extends Proof {
  readonly by: 'event';
  readonly signature: string | null;
  readonly vault: string | null;
  /** The merged payload that lists the event; undefined if it was paid alone. */
  readonly mergedPayload: string | undefined;
}

type ProofQuery = EventQuery | { readonly by: 'signature'; readonly signature: string; readonly vault: string | null };

async function toQuery(options: VerifyOptions): Promise<ProofQuery> {
  const { type, signature, vault = null } = options;
  const payload = await readPayload(options);
  if ((type === undefined) !== (payload === null)) {
    throw new CliError('ERR_USAGE', 'Pass --type together with --payload or --payload-file.');
  }
  if (type !== undefined && payload !== null) {
    const mergedPayload = await readMergedPayload(options);
    return { by: 'event', type, payload, mergedPayload, signature: signature ?? null, vault };
  }
  if (options.mergedPayloadFile !== undefined) {
    throw new CliError('ERR_USAGE', 'Pass the event that the merged payload lists: --type and --payload.');
  }
  if (signature !== undefined) return { by: 'signature', signature, vault };
  throw new CliError('ERR_USAGE', 'Nothing to verify. Pass --type and --payload, or --signature, or all of them.');
}

async function readPayload({ payload, payloadFile }: VerifyOptions): Promise<string | null> {
  if (payloadFile === undefined) return payload ?? null;
  if (payload === undefined) return readTextFile(payloadFile, 'Expected the payload as it was sent.');
  throw new CliError('ERR_USAGE', 'Pass --payload or --payload-file, not both.');
}

async function readMergedPayload({ mergedPayloadFile: file }: VerifyOptions): Promise<string | undefined> {
  if (file === undefined) return undefined;
  // A merged payload has no white space, so a newline at the end of the file is the editor's.
  return (await readTextFile(file, 'Expected the merged payload as the project publishes it.')).trimEnd();
}

interface Verification {
  readonly isProven: boolean;
  /** The result as a sentence. */
  readonly message: string;
  readonly proofs: readonly FoundProof[];
  /** True if only the service says that the vault is the right one. */
  readonly trustsServiceForVault: boolean;
}

interface FoundProof {
  readonly type: string;
  /** SHA-256, lowercase hex. */
  readonly hash: string;
  readonly signature: string;
  readonly vaultAddress: string;
  readonly slot: number | null;
  /** ISO 8601; null if the node does not know it. */
  readonly executedAt: string | null;
}

interface VerifyDeps {
  readonly rpcUrls: readonly string[];
  readonly console: ConsoleClient;
}

async function verifyProof(deps: VerifyDeps, query: ProofQuery): Promise<Verification> {
  const { signature, vault } = query;
  const mergedPayload = query.by === 'event' ? query.mergedPayload : undefined;
  if (query.by === 'event' && mergedPayload !== undefined && !isMergedIn(query, mergedPayload)) {
    return { isProven: false, message: NOT_LISTED, proofs: [], trustsServiceForVault: vault === null };
  }
  if (signature !== null && vault !== null) {
    const result = await verifyAt(deps, query, { signature, vaultAddress: vault });
    return { ...conclude([result]), trustsServiceForVault: false };
  }
  const check = await deps.console.call(CONSOLE_OPERATIONS.checkProof, {
    body:
      query.by === 'event'
        ? { type: query.type, payload: mergedPayload ?? query.payload }
        : { signature: query.signature },
  });
  const candidates = candidatesOf(check.pipelines, query);
  if (candidates.length === 0) {
    const message = check.verdict === 'proven' ? notFoundMessage(query) : check.message;
    return { isProven: false, message, proofs: [], trustsServiceForVault: vault === null };
  }
  const results = await Promise.all(candidates.map((candidate) => verifyAt(deps, query, candidate)));
  return { ...conclude(results), trustsServiceForVault: vault === null };
}

const NOT_LISTED = 'The file is not a merged payload, or does not list this event.';

/** A transaction to look at, and the vault that must have signed the proof in it. */
interface Candidate {
  readonly signature: string;
  readonly vaultAddress: string;
}

function candidatesOf(pipelines: readonly ProvenPipeline[], { signature, vault }: ProofQuery): Candidate[] {
  const candidates = new Map<string, Candidate>();
  for (const pipeline of pipelines) {
    const { vaultAddress } = pipeline;
    if (pipeline.signature === undefined || (signature !== null && pipeline.signature !== signature)) continue;
    if (vault !== null && vaultAddress !== vault) continue;
    candidates.set(`${pipeline.signature} ${vaultAddress}`, { signature: pipeline.signature, vaultAddress });
  }
  return [...candidates.values()];
}

function notFoundMessage({ signature, vault }: ProofQuery): string {
  const conditions = [
    ...(signature === null ? [] : [`in transaction ${signature}`]),
    ...(vault === null ? [] : [`signed by the vault ${vault}`]),
  ];
  return `Not found: the service knows this proof, but not ${conditions.join(', ')}.`;
}

interface TransactionResult {
  /** Why nothing was found; null if something was. */
  readonly mismatch: string | null;
  readonly proofs: readonly FoundProof[];
}

/** Reads one transaction from the nodes of the caller’s choice. */
async function verifyAt(
  { rpcUrls }: VerifyDeps,
  query: ProofQuery,
  { signature, vaultAddress }: Candidate,
): Promise<TransactionResult> {
  // A query by signature accepts any proof of the vault; the result lists what it found.
  const { type, payload, mergedPayload } =
    query.by === 'event' ? query : { type: '', payload: '', mergedPayload: undefined };
  const verdict = await verifyProofOnChain(rpcUrls, { type, payload, mergedPayload, signature, vault: vaultAddress });
  const { slot, executedAt } = verdict;
  const proofs = matchesOf(verdict, query).map((found) => ({
    ...{ type: found.type, hash: found.hash, signature, vaultAddress, slot, executedAt },
  }));
  return { mismatch: proofs.length > 0 ? null : verdict.reason, proofs };
}

function matchesOf({ found, memo }: ProofVerification, { by }: ProofQuery): ProofVerification['found'] {
  return by === 'signature' ? found : found.filter(({ type, hash }) => memo === formatProofMemo({ type, hash }));
}

function conclude(results: readonly TransactionResult[]): Pick<Verification, 'isProven' | 'message' | 'proofs'> {
  const proofs = results.flatMap((result) => result.proofs);
  const [first] = proofs;
  if (!first) {
    const [message = 'Nothing was found.'] = results.flatMap(({ mismatch }) => mismatch ?? []);
    return { isProven: false, message, proofs };
  }
  const found = proofs.length === 1 ? 'this proof' : `${proofs.length} proofs`;
  return {
    isProven: true,
    message: `Proven: transaction ${first.signature} contains ${found}, signed by the vault ${first.vaultAddress}.`,
    proofs,
  };
}

function describeVerification(
  { isProven, message, proofs, trustsServiceForVault }: Verification,
  node: string,
  stream: Writable,
): string {
  const mark = isProven ? styleText('green', '✓', { stream }) : styleText('red', '✗', { stream });
  return [
    `${mark} ${message}`,
    ...proofs.flatMap(({ type, hash, signature, vaultAddress, slot, executedAt }) =>
      layOutPairs(
        [
          ['proof', `${type} ${hash}`],
          ['transaction', signature],
          ['vault', vaultAddress],
          ['executed', `${executedAt ?? 'at an unknown time'}, slot ${slot ?? 'unknown'}`],
        ],
        stream,
      ),
    ),
    ...(isProven ? [`  Read from ${node}.${trustsServiceForVault ? ` ${VAULT_NOT_CHECKED}` : ''}`] : []),
  ].join('\n');
}

const VAULT_NOT_CHECKED = 'Only the service says that this is the project’s vault; --vault checks it against your own.';

function hintOf(query: ProofQuery): string {
  if (query.by === 'signature') return 'Check the signature, and that the node is of the right cluster.';
  const newline = query.payload.endsWith('\n') ? ' This payload ends with a newline.' : '';
  return `The payload must match byte for byte, including spaces.${newline}`;
}
