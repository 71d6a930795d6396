import type { Examination } from '@flywheel/service';
import { type Address, createSolanaRpc } from '@solana/kit';
import { formatAmount, SOL_DECIMALS } from '../../amount.ts';
import { count, groupDigits } from '../../words.ts';
import { type Finding, failure, ok, reasonOf, warning } from './check.ts';
import type { DatabaseFindings } from './database.ts';

export interface SignersInput {
  readonly examination: Examination;
  readonly rpcUrl: string;
  /** Whom the projects’ multisigs know. */
  readonly members: NonNullable<DatabaseFindings['service']>['members'];
}

type Who = 'operator' | 'company';

/** Whether both signers can be read, are two, are those of the projects, and whether the operator can pay. */
export async function checkSigners({ examination, rpcUrl, members }: SignersInput): Promise<Finding[]> {
  const read = async (who: Who | 'previousCompany') =>
    examination
      .signer(who)
      .catch((error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }));
  const [operator, company, previous] = await Promise.all([read('operator'), read('company'), read('previousCompany')]);
  const findings = [describeSigner('operator', operator), describeSigner('company', company)];
  if (previous !== null && 'error' in previous) findings.push(failure('company', previous.error, PREVIOUS_REMEDY));
  const operatorAddress = addressOf(operator);
  const companyAddress = addressOf(company);
  if (operatorAddress !== null && operatorAddress === companyAddress) {
    const text = `Operator and company approver are the same key, ${operatorAddress}.`;
    findings.push(failure('signers', text, 'They must be two: make another key, and name it in COMPANY_SIGNER.'));
  }
  if (operatorAddress !== null) findings.push(...strangers('operator', [operatorAddress], members));
  if (companyAddress !== null) findings.push(...strangers('company', [companyAddress, addressOf(previous)], members));
  if (operatorAddress !== null) findings.push(await checkBalance(operatorAddress, rpcUrl));
  return findings;
}

type Reading = Awaited<ReturnType<Examination['signer']>> | { readonly error: string };

const ROLES = { operator: 'Operator', company: 'Company approver' } as const;
const PREVIOUS_REMEDY = 'Mend COMPANY_SIGNER_PREVIOUS, or take it out once no project knows that key any more.';

function describeSigner(who: Who, reading: Reading): Finding {
  const name = `${who.toUpperCase()}_SIGNER`;
  if (reading === null) {
    const text = `${name} is not set, and no local key was made yet.`;
    return warning(who, text, `npm start makes one for its local cluster; elsewhere set ${name}.`);
  }
  if ('error' in reading) {
    const remedy = `Mend ${name}: a Solana CLI keypair file, or kms://…; docs/operating.md, Signers.`;
    // It is a sentence already; what caused it only repeats it.
    return failure(who, reading.error, remedy);
  }
  const { address, canSign } = reading;
  if (canSign) return ok(who, `${ROLES[who]} ${address}, and its key is here.`);
  return ok(who, `${ROLES[who]} ${address}, by address alone: enough for flywheel serve, not for flywheel work.`);
}

function addressOf(reading: Reading): Address | null {
  return reading !== null && 'address' in reading ? reading.address : null;
}

/** A multisig keeps its members: what another key signs is nothing to it. */
function strangers(who: Who, own: readonly (Address | null)[], members: SignersInput['members']): Finding[] {
  const foreign = members.filter((member) => !own.includes(member[who]));
  const projects = foreign.reduce((sum, member) => sum + member.projects, 0);
  const total = members.reduce((sum, member) => sum + member.projects, 0);
  const [first] = foreign;
  if (!first) return [];
  const known = total === 1 ? 'The one project knows' : `${projects} of ${count(total, 'project')} know`;
  const text = `${known} another ${ROLES[who].toLowerCase()}, e.g. ${first[who]}.`;
  const remedy =
    who === 'operator'
      ? 'Run a worker with OPERATOR_SIGNER set to that key: nobody else can execute their batches.'
      : 'Name that key in COMPANY_SIGNER_PREVIOUS: nobody else can approve their batches.';
  return [failure(who, text, remedy)];
}

/** Setups wait below this (docs/operating.md, What to watch). */
const RESERVE_LAMPORTS = 10_000_000n;
/** What a batch locks until it is closed, and each of its pipelines at most (docs/operating.md, What to watch). */
const BATCH_LAMPORTS = 4_900_000n;
const PIPELINE_LAMPORTS = 4_400_000n;
/** Below so many open pipelines at once a person had better look. */
const COMFORTABLE_PIPELINES = 100n;

const TIMEOUT_MS = 5_000;

async function checkBalance(operator: Address, rpcUrl: string): Promise<Finding> {
  let lamports: bigint;
  try {
    const request = createSolanaRpc(rpcUrl).getBalance(operator, { commitment: 'confirmed' });
    const { value } = await request.send({ abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
    lamports = value;
  } catch (error) {
    const remedy = 'See what stands against the cluster above.';
    return failure('balance', `The operator’s balance cannot be read: ${reasonOf(error)}.`, remedy);
  }
  const spare = lamports - RESERVE_LAMPORTS - BATCH_LAMPORTS;
  const pipelines = spare > 0n ? spare / PIPELINE_LAMPORTS : 0n;
  const held = `The operator holds ${groupDigits(formatAmount(lamports, SOL_DECIMALS))} SOL`;
  const remedy = `Send SOL to ${operator}: each open pipeline locks up to 0.0044 until its batch is closed.`;
  if (pipelines === 0n) {
    return failure('balance', `${held}: too little to set up any batch and keep 0.01 in reserve.`, remedy);
  }
  const room = `room for about ${count(Number(pipelines), 'open pipeline')}`;
  if (pipelines < COMFORTABLE_PIPELINES) return warning('balance', `${held}: ${room}.`, remedy);
  return ok('balance', `${held}: ${room}.`);
}
