import { readFile } from 'node:fs/promises';
import { isAddress, isSignature } from '@solana/kit';
import { type Command, InvalidArgumentError } from 'commander';
import { askedRpcUrlOf, type Context, openConsole, type RpcUrlOption, type UrlOption } from '../context.ts';
import { CliError } from '../errors.ts';
import { describeVerification } from './describe-verification.ts';
import { type ProofQuestion, verifyProof } from './verify-proof.ts';

interface VerifyOptions extends UrlOption, RpcUrlOption {
  readonly type?: string;
  readonly payload?: string;
  readonly payloadFile?: string;
  readonly signature?: string;
  readonly vault?: string;
}

/** `flywheel proof verify` */
export function addProofCommands(program: Command, context: Context): void {
  const proof = program
    .command('proof')
    .summary('verify a proof on chain')
    .description('Proof memos: what a vault wrote on chain for each pipeline.');

  proof
    .command('verify')
    .summary('by its event, its transaction, or both')
    .description(
      'Verify that the chain carries a proof: by the event it was made for, by a transaction, or by both. The service only says where to look; with --signature and --vault it is not asked at all. Exits with 0 when proven, with 3 when not.',
    )
    .option('--type <type>', 'the pipeline’s type')
    .option('--payload <json>', 'its payload, byte for byte as it was sent')
    .option('--payload-file <file>', 'the same from a file, where a newline at its end counts')
    .option('--signature <signature>', 'the transaction that is said to carry it', parseSignature)
    .option('--vault <address>', 'the vault that must have signed it; else whichever the service names', parseVault)
    .option('--rpc-url <url>', 'the node to read, else SOLANA_RPC_URL, else the one that the service names')
    .option('--url <url>', 'the service, else FLYWHEEL_URL')
    .addHelpText('after', '\nExample:\n  flywheel proof verify --type WATCH_AD --payload \'{"adId":"123"}\'')
    .action(async (options: VerifyOptions) => {
      const { output } = context;
      const question = await questionOf(options);
      const rpcUrl = await askedRpcUrlOf(context, options);
      const verification = await verifyProof({ rpcUrl, service: openConsole(context, options) }, question);
      const { isProven, message, proofs } = verification;
      output.result(
        { proven: isProven, message, rpcUrl, proofs },
        describeVerification(verification, rpcUrl, output.stdout),
      );
      if (!isProven)
        throw new CliError('ERR_NOT_PROVEN', `Not proven at ${new URL(rpcUrl).host}. ${nextStepOf(question)}`);
    });
}

function parseSignature(text: string): string {
  if (isSignature(text)) return text;
  throw new InvalidArgumentError('It must be a transaction’s signature: 64 bytes in base58.');
}

function parseVault(text: string): string {
  if (isAddress(text)) return text;
  throw new InvalidArgumentError('It must be a base58 address of 32 bytes.');
}

async function questionOf(options: VerifyOptions): Promise<ProofQuestion> {
  const { type, signature, vault = null } = options;
  const payload = await payloadOf(options);
  if ((type === undefined) !== (payload === null)) {
    throw new CliError('ERR_USAGE', '--type and --payload (or --payload-file) belong together.');
  }
  if (type !== undefined && payload !== null) {
    return { by: 'event', type, payload, signature: signature ?? null, vault };
  }
  if (signature !== undefined) return { by: 'signature', signature, vault };
  throw new CliError('ERR_USAGE', 'Nothing to verify. Say --type and --payload, or --signature, or all of them.');
}

async function payloadOf({ payload, payloadFile }: VerifyOptions): Promise<string | null> {
  if (payload !== undefined && payloadFile !== undefined) {
    throw new CliError('ERR_USAGE', 'Say --payload or --payload-file, not both.');
  }
  if (payloadFile === undefined) return payload ?? null;
  try {
    return await readFile(payloadFile, 'utf8');
  } catch (cause) {
    throw new CliError('ERR_FILE', `${payloadFile} cannot be read. It must hold the payload as it was sent.`, {
      cause,
    });
  }
}

function nextStepOf(question: ProofQuestion): string {
  if (question.by === 'signature') return 'Check the signature, and that the node is of the right cluster.';
  const newline = question.payload.endsWith('\n') ? ' It ends with a newline, which counts.' : '';
  return `Every byte of the payload counts, spaces too.${newline}`;
}
