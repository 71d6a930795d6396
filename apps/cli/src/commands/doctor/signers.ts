import { messageOf, pluralize } from '@flywheel/protocol';
import type { Diagnostics } from '@flywheel/service';
import type { Address } from '@solana/kit';
import { type Check, failure, ok, warning } from './check.ts';
import type { ServiceState } from './database.ts';

export interface SignersInput {
  readonly diagnostics: Diagnostics;
  readonly recovery: Address | null;
  readonly findKeyConflict: typeof import('@flywheel/service').findKeyConflict;
  /** The operators and company approvers in the projects’ multisigs. */
  readonly members: ServiceState['members'];
  readonly nonces: ServiceState['nonces'];
}

type Role = 'operator' | 'company';

/** Checks that all signers can be read, differ, and match the projects. */
export async function checkSigners(input: SignersInput): Promise<Check[]> {
  const { diagnostics, members, nonces } = input;
  const read = async (role: Role | 'previousOperator' | 'previousCompany') =>
    diagnostics.signer(role).catch((error: unknown) => ({ error: messageOf(error) }));
  const [operator, company] = await Promise.all([read('operator'), read('company')]);
  const [previousOperator, previousCompany] = await Promise.all([read('previousOperator'), read('previousCompany')]);
  const checks = [
    checkSigner('operator', operator),
    checkSigner('company', company),
    ...checkPrevious('operator', previousOperator, { members, nonces }),
    ...checkPrevious('company', previousCompany, { members, nonces }),
  ];
  return [
    ...checks,
    ...checkDistinct(input, { operator, company, previousOperator, previousCompany }),
    ...checkMembers('operator', [operator, previousOperator], members),
    ...checkMembers('company', [company, previousCompany], members),
  ];
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

function checkDistinct(
  { recovery, findKeyConflict }: SignersInput,
  readings: Readonly<Record<Role | 'previousOperator' | 'previousCompany', Reading>>,
): Check[] {
  const [operator, company] = [addressOf(readings.operator), addressOf(readings.company)];
  if (operator === null || company === null) return [];
  const previousOperator = addressOf(readings.previousOperator);
  const previousCompany = addressOf(readings.previousCompany);
  const conflict = findKeyConflict({ operator, company, recovery, previousOperator, previousCompany });
  if (conflict === null) return [ok('signers', 'Operator and company approver are two keys.')];
  return [failure('signers', conflict, 'Correct these settings: flywheel work does not start with them.')];
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

/**
 * Checks that this environment has the members of all multisigs, which reject signatures of any other key. One that only has the
 * address signs nothing and needs no other: its projects may be those that are not rotated yet.
 */
function checkMembers(
  role: Role,
  [present, previous]: readonly [Reading, Reading],
  members: SignersInput['members'],
): Check[] {
  if (present === null || !('address' in present)) return [];
  const own = [present.address, addressOf(previous)];
  const foreign = members.filter((member) => !own.includes(member[role]));
  const projects = foreign.reduce((sum, member) => sum + member.projects, 0);
  const total = members.reduce((sum, member) => sum + member.projects, 0);
  const [first] = foreign;
  if (!first) return [];
  const subject = total === 1 ? 'The only project has' : `${projects} of ${pluralize(total, 'project')} have`;
  const text = `${subject} another ${ROLE_NAMES[role].toLowerCase()}, e.g. ${first[role]}.`;
  if (!present.canSign) {
    const variable = role.toUpperCase();
    const needed = `Workers need that key as ${variable}_SIGNER_PREVIOUS, and no other process does.`;
    return [warning(role, text, `${needed} If no replacement is under way, correct ${variable}_ADDRESS.`)];
  }
  const remedy =
    role === 'operator'
      ? 'Set OPERATOR_SIGNER_PREVIOUS to that key: only it can execute their batches. If it is lost: docs/operating.md, Replace a lost operator.'
      : 'Set COMPANY_SIGNER_PREVIOUS to that key: only that key can approve their batches.';
  return [failure(role, text, remedy)];
}
