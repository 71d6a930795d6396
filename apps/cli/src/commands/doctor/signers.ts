import { groupDigits, pluralize, SOL_DECIMALS, toDecimal } from '@flywheel/protocol';
import type { Diagnostics } from '@flywheel/service';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { type Address, createSolanaRpcFromTransport } from '@solana/kit';
import { type Check, failure, ok, reasonOf, warning } from './check.ts';
import type { ServiceState } from './database.ts';

export interface SignersInput {
  readonly diagnostics: Diagnostics;
  readonly rpcUrl: string;
  /** The operators and company approvers in the projects’ multisigs. */
  readonly members: ServiceState['members'];
  readonly nonces: ServiceState['nonces'];
}

type Role = 'operator' | 'company';

/** Checks that both signers can be read, differ, and match the projects, and that the operator can pay. */
export async function checkSigners({ diagnostics, rpcUrl, members, nonces }: SignersInput): Promise<Check[]> {
  const read = async (role: Role | 'previousOperator' | 'previousCompany') =>
    diagnostics
      .signer(role)
      .catch((error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }));
  const [operator, company] = await Promise.all([read('operator'), read('company')]);
  const [previousOperator, previousCompany] = await Promise.all([read('previousOperator'), read('previousCompany')]);
  const checks = [
    checkSigner('operator', operator),
    checkSigner('company', company),
    ...checkPrevious('operator', previousOperator, { members, nonces }),
    ...checkPrevious('company', previousCompany, { members, nonces }),
  ];
  const operatorAddress = addressOf(operator);
  const companyAddress = addressOf(company);
  if (operatorAddress !== null && operatorAddress === companyAddress) {
    const text = `Operator and company approver are the same key, ${operatorAddress}.`;
    checks.push(failure('signers', text, 'Use two keys: create another one and set COMPANY_SIGNER to it.'));
  }
  if (operatorAddress !== null)
    checks.push(...checkMembers('operator', [operatorAddress, addressOf(previousOperator)], members));
  if (companyAddress !== null)
    checks.push(...checkMembers('company', [companyAddress, addressOf(previousCompany)], members));
  if (operatorAddress !== null) checks.push(await checkBalance(operatorAddress, rpcUrl));
  return checks;
}

type Reading = Awaited<ReturnType<Diagnostics['signer']>> | { readonly error: string };

const ROLE_NAMES = { operator: 'Operator', company: 'Company approver' } as const;

function checkSigner(role: Role, reading: Reading): Check {
  const variable = `${role.toUpperCase()}_SIGNER`;
  if (reading === null) {
    const text = `${variable} is not set, and no local key exists yet.`;
    return warning(role, text, `npm start creates one for its local cluster; for other clusters set ${variable}.`);
  }
  if ('error' in reading) {
    const remedy = `Fix ${variable}: a Solana CLI keypair file or kms://…; see Signers in docs/operating.md.`;
    return failure(role, reading.error, remedy);
  }
  const { address, canSign } = reading;
  if (canSign) return ok(role, `${ROLE_NAMES[role]} ${address}; its key is available.`);
  return ok(role, `${ROLE_NAMES[role]} ${address}; address only: enough for flywheel serve, not for flywheel work.`);
}

/** Checks a previous signer that is set; how many projects and nonces still have it says when it can be removed. */
function checkPrevious(
  role: Role,
  reading: Reading,
  { members, nonces }: Pick<SignersInput, 'members' | 'nonces'>,
): Check[] {
  if (reading === null) return [];
  const variable = `${role.toUpperCase()}_SIGNER_PREVIOUS`;
  if ('error' in reading) {
    const remedy = `Fix ${variable}, or remove it if no project has that key as a member any more.`;
    return [failure(role, reading.error, remedy)];
  }
  const projects = members
    .filter((member) => member[role] === reading.address)
    .reduce((sum, member) => sum + member.projects, 0);
  const left = nonces.filter(({ operator }) => operator === reading.address).reduce((sum, { count }) => sum + count, 0);
  const ofOperator = role === 'operator' ? `, and ${pluralize(left, 'nonce')} of it` : '';
  const text = `${pluralize(projects, 'project')} with the previous ${ROLE_NAMES[role].toLowerCase()} ${reading.address}${ofOperator}.`;
  return [ok(role, text)];
}

function addressOf(reading: Reading): Address | null {
  return reading !== null && 'address' in reading ? reading.address : null;
}

/** The members of a multisig are fixed at registration: it rejects signatures of any other key. */
function checkMembers(role: Role, own: readonly (Address | null)[], members: SignersInput['members']): Check[] {
  const foreign = members.filter((member) => !own.includes(member[role]));
  const projects = foreign.reduce((sum, member) => sum + member.projects, 0);
  const total = members.reduce((sum, member) => sum + member.projects, 0);
  const [first] = foreign;
  if (!first) return [];
  const subject = total === 1 ? 'The only project has' : `${projects} of ${pluralize(total, 'project')} have`;
  const text = `${subject} another ${ROLE_NAMES[role].toLowerCase()}, e.g. ${first[role]}.`;
  const remedy =
    role === 'operator'
      ? 'Set OPERATOR_SIGNER_PREVIOUS to that key: only it can execute their batches. If it is lost: docs/operating.md, Replace a lost operator.'
      : 'Set COMPANY_SIGNER_PREVIOUS to that key: only that key can approve their batches.';
  return [failure(role, text, remedy)];
}

/** Setups pause below this balance (docs/operating.md, What to watch). */
const RESERVE_LAMPORTS = 10_000_000n;
/** Upper bounds of the rent that an open batch locks, and each of its pipelines (docs/operating.md, What to watch). */
const BATCH_LAMPORTS = 4_900_000n;
const PIPELINE_LAMPORTS = 4_400_000n;
/** With room for fewer open pipelines, the balance needs attention. */
const COMFORTABLE_PIPELINES = 100n;

const TIMEOUT_MS = 5_000;

async function checkBalance(operator: Address, rpcUrl: string): Promise<Check> {
  let lamports: bigint;
  try {
    const transport = createRpcTransport({ url: rpcUrl, timeoutMs: TIMEOUT_MS, maxAttempts: 1 });
    const rpc = createSolanaRpcFromTransport(transport);
    const { value } = await rpc.getBalance(operator, { commitment: 'confirmed' }).send();
    lamports = value;
  } catch (error) {
    const text = `Cannot read the operator’s balance: ${reasonOf(error)}.`;
    return failure('balance', text, 'See the cluster check above.');
  }
  const spare = lamports - RESERVE_LAMPORTS - BATCH_LAMPORTS;
  const pipelines = spare > 0n ? spare / PIPELINE_LAMPORTS : 0n;
  const held = `The operator holds ${groupDigits(toDecimal(lamports, SOL_DECIMALS))} SOL`;
  const remedy = `Send SOL to ${operator}: each open pipeline locks up to 0.0044 SOL until its batch is closed.`;
  if (pipelines === 0n) {
    return failure('balance', `${held}: too little to set up a batch and keep 0.01 SOL in reserve.`, remedy);
  }
  const room = `room for about ${pluralize(Number(pipelines), 'open pipeline')}`;
  if (pipelines < COMFORTABLE_PIPELINES) return warning('balance', `${held}: ${room}.`, remedy);
  return ok('balance', `${held}: ${room}.`);
}
