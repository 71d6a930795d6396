import { randomBytes } from 'node:crypto';
import type {
  AdmissionRequest,
  CompanyPolicy,
  CompanyTerms,
  DecisionSignature,
  PolicyRequest,
  ResumeRequest,
  TermsRequest,
} from '@flywheel/api';
import { type BatchDecision, type CompanyDecision, type DecisionSubject, writeDecisionText } from '@flywheel/protocol';
import { compileAgain } from '@flywheel/service/internal/batches/compile-again.ts';
import { parsePolicy } from '@flywheel/service/internal/company/policies.ts';
import { parseTerms } from '@flywheel/service/internal/projects/settings.ts';
import { findBatch } from '@flywheel/service/internal/store/batches/batches.ts';
import { requireProject } from '@flywheel/service/internal/store/projects/projects.ts';
import { createSignableMessage, type KeyPairSigner } from '@solana/kit';
import { type Answer, send } from './client.ts';
import type { TestProject } from './project.ts';
import type { World } from './world.ts';

/** A person who acts for the company. */
export interface Decider {
  readonly wallet: KeyPairSigner;
  /** Session of the wallet, as a Cookie header. */
  readonly cookie: string;
}

type DecisionWorld = Pick<World, 'url' | 'db' | 'rpc'>;

/** Approves, as an operator of the company, a batch that the project's wallet has approved. */
export async function approveForCompany(world: DecisionWorld, by: Decider, batchId: string): Promise<Answer> {
  return decide(world, by, `${batchId}/approve`, await signDecision(world, by.wallet, batchId));
}

export async function rejectForCompany(
  world: DecisionWorld,
  by: Decider,
  batchId: string,
  reason: string,
): Promise<Answer> {
  const signed = await signDecision(world, by.wallet, batchId, { reason });
  return decide(world, by, `${batchId}/reject`, { ...signed, reason });
}

/** Sends a decision that is signed already. */
export function decide(
  { url }: Pick<World, 'url'>,
  { cookie }: Pick<Decider, 'cookie'>,
  path: string,
  body: unknown,
): Promise<Answer> {
  return send(url, 'POST', `/console/api/company/batches/${path}`, { headers: { cookie }, body });
}

/** Changes what the company approves by itself for a project, in the way that an operator does. */
export async function changeTerms(
  world: DecisionWorld,
  by: Decider,
  project: Pick<TestProject, 'projectId'>,
  changes: Partial<CompanyTerms>,
): Promise<Answer> {
  const headers = { cookie: by.cookie };
  const settings = await send(world.url, 'GET', `/console/api/projects/${project.projectId}/settings`, { headers });
  if (settings.status !== 200) return settings;
  const from: CompanyTerms = settings.body.companyTerms;
  const body = await signTerms(world, by.wallet, project, { from, to: { ...from, ...changes } });
  return send(world.url, 'PUT', `/console/api/company/projects/${project.projectId}/terms`, { headers, body });
}

/** Signs a change of terms as raw text. */
export async function signTerms(
  { db, rpc }: Pick<DecisionWorld, 'db' | 'rpc'>,
  wallet: KeyPairSigner,
  { projectId }: Pick<TestProject, 'projectId'>,
  { from, to }: { readonly from: CompanyTerms; readonly to: CompanyTerms },
  changes: SignatureChanges = {},
): Promise<TermsRequest> {
  const { token, flywheel } = await requireProject(db, projectId);
  const terms = { from: parseTerms('from', from, token), to: parseTerms('to', to, token) };
  const subject = { type: 'terms', multisig: flywheel.multisig.address, token, ...terms } as const;
  return { from, to, ...(await signSubject({ rpc }, wallet, subject, changes)) };
}

/** Admits a project, or withdraws its admission, in the way that an operator does. */
export async function changeAdmission(
  world: DecisionWorld,
  by: Decider,
  project: Pick<TestProject, 'projectId'>,
  decision: 'admit' | 'withdraw',
): Promise<Answer> {
  const headers = { cookie: by.cookie };
  const body = await signAdmission(world, by.wallet, project, decision === 'admit' ? ADMISSION_TERMS : null);
  return send(world.url, 'PUT', `/console/api/company/projects/${project.projectId}/admission`, { headers, body });
}

/** Terms of admissions, those with which `createProject` registers. */
export const ADMISSION_TERMS: CompanyTerms = {
  approvalMode: 'automatic',
  burnLimit: '1000000',
  airdropLimit: '1000000',
};

/** Signs an admission with these terms, or its end, as raw text. */
export async function signAdmission(
  { db, rpc }: Pick<DecisionWorld, 'db' | 'rpc'>,
  wallet: KeyPairSigner,
  { projectId }: Pick<TestProject, 'projectId'>,
  terms: CompanyTerms | null,
  changes: SignatureChanges = {},
): Promise<AdmissionRequest> {
  const { token, flywheel } = await requireProject(db, projectId);
  const { address: multisig, wallet: owner } = flywheel.multisig;
  const parsed = terms && parseTerms('terms', terms, token);
  const subject = { type: 'admission', multisig, wallet: owner, token, terms: parsed } as const;
  return { terms, ...(await signSubject({ rpc }, wallet, subject, changes)) };
}

/** Sets the company's rules for a project, in the way that an operator does. */
export async function setPolicy(
  world: DecisionWorld,
  by: Decider,
  project: Pick<TestProject, 'projectId'>,
  policy: CompanyPolicy,
): Promise<Answer> {
  const headers = { cookie: by.cookie };
  const path = `/console/api/projects/${project.projectId}/policy`;
  const { body: present } = await send(world.url, 'GET', path, { headers });
  const body = await signPolicy(world, by.wallet, project, { version: present.version + 1, policy });
  return send(world.url, 'PUT', `/console/api/company/projects/${project.projectId}/policy`, { headers, body });
}

/** Signs rules for a project as raw text. */
export async function signPolicy(
  { db, rpc }: Pick<DecisionWorld, 'db' | 'rpc'>,
  wallet: KeyPairSigner,
  { projectId }: Pick<TestProject, 'projectId'>,
  { version, policy }: Pick<PolicyRequest, 'version' | 'policy'>,
): Promise<PolicyRequest> {
  const { token, flywheel } = await requireProject(db, projectId);
  const { address: multisig } = flywheel.multisig;
  const subject = { type: 'policy', multisig, token, version, policy: parsePolicy(policy, token) } as const;
  return { version, policy, ...(await signSubject({ rpc }, wallet, subject)) };
}

/** Resumes a project, or all of them, in the way that an operator does. */
export async function resume(world: DecisionWorld, by: Decider, projectId: string | null): Promise<Answer> {
  const headers = { cookie: by.cookie };
  const overview = projectId === null ? '/company' : `/projects/${projectId}`;
  const { body: paused } = await send(world.url, 'GET', `/console/api${overview}`, { headers });
  const body = await signResumption(world, by.wallet, projectId, new Date(paused.pausedAt ?? 0));
  const path = projectId === null ? '/resume' : `/projects/${projectId}/resume`;
  return send(world.url, 'POST', `/console/api/company${path}`, { headers, body });
}

/** Signs the end of a pause as raw text. */
export async function signResumption(
  { db, rpc }: Pick<DecisionWorld, 'db' | 'rpc'>,
  wallet: KeyPairSigner,
  projectId: string | null,
  pausedAt: Date,
): Promise<ResumeRequest> {
  const project = projectId === null ? null : await requireProject(db, projectId);
  const subject = { type: 'resume', multisig: project?.flywheel.multisig.address ?? null, pausedAt } as const;
  return { pausedAt: pausedAt.toISOString(), ...(await signSubject({ rpc }, wallet, subject)) };
}

/** What a test changes in a decision, for example its multisig. */
type DecisionChanges = SignatureChanges & Partial<Omit<BatchDecision, 'type' | 'decision'>>;

type SignatureChanges = Partial<Omit<CompanyDecision, 'subject'>>;

const HOUR_MS = 3_600_000;

/** Signs a decision about a batch as raw text. The text of a batch that does not exist names another batch. */
export async function signDecision(
  { db, rpc }: Pick<DecisionWorld, 'db' | 'rpc'>,
  wallet: KeyPairSigner,
  batchId: string,
  changes: DecisionChanges = {},
): Promise<DecisionSignature> {
  const { reason = null, multisig, batchIndex, content, ...rest } = changes;
  const own = await describeBatch(db, batchId, wallet);
  const subject = {
    type: 'batch',
    decision: reason === null ? 'approve' : 'reject',
    reason,
    multisig: multisig ?? own.multisig,
    batchIndex: batchIndex ?? own.batchIndex,
    content: content ?? own.content,
  } as const;
  return signSubject({ rpc }, wallet, subject, rest);
}

/** Signs a decision about any subject as raw text. */
async function signSubject(
  { rpc }: Pick<DecisionWorld, 'rpc'>,
  wallet: KeyPairSigner,
  subject: DecisionSubject,
  changes: SignatureChanges = {},
): Promise<DecisionSignature> {
  const { nonce = randomBytes(16).toString('hex'), expiresAt = new Date(Date.now() + HOUR_MS) } = changes;
  const genesisHash = await rpc.getGenesisHash().send();
  const text = writeDecisionText({
    subject,
    genesisHash,
    operator: wallet.address,
    ...changes,
    nonce,
    expiresAt,
  });
  const [signatures] = await wallet.signMessages([createSignableMessage(text)]);
  const signature = signatures?.[wallet.address];
  if (!signature) throw new Error('The operator’s wallet gave no signature.');
  return {
    nonce,
    expiresAt: expiresAt.toISOString(),
    signedMessage: Buffer.from(text).toString('base64'),
    signature: Buffer.from(signature).toString('base64'),
  };
}

async function describeBatch(db: World['db'], batchId: string, { address }: KeyPairSigner) {
  const batch = await findBatch(db, batchId);
  if (!batch) return { multisig: address, batchIndex: 1n, content: { pipelines: [] } };
  const project = await requireProject(db, batch.projectId);
  const content = await compileAgain(project, batch);
  return { multisig: project.flywheel.multisig.address, batchIndex: batch.batchIndex, content };
}
