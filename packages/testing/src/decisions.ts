import { randomBytes } from 'node:crypto';
import type { DecisionSignature } from '@flywheel/api';
import { type BatchDecision, type CompanyDecision, type DecisionSubject, writeDecisionText } from '@flywheel/protocol';
import { compileAgain } from '@flywheel/service/internal/batches/compile-again.ts';
import { findBatch } from '@flywheel/service/internal/store/batches/batches.ts';
import { findProjectOfBatch } from '@flywheel/service/internal/store/projects/projects.ts';
import { createSignableMessage, type KeyPairSigner } from '@solana/kit';
import { type Answer, send } from './client.ts';
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

/** What a test changes in a decision, for example its multisig. */
type DecisionChanges = Partial<Omit<CompanyDecision, 'subject'> & Omit<BatchDecision, 'type' | 'decision'>>;

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
  changes: Partial<Omit<CompanyDecision, 'subject'>> = {},
): Promise<DecisionSignature> {
  const { nonce = randomBytes(16).toString('hex'), expiresAt = new Date(Date.now() + HOUR_MS) } = changes;
  const genesisHash = await rpc.getGenesisHash().send();
  const text = await writeDecisionText({
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
  const project = await findProjectOfBatch(db, batch);
  const content = await compileAgain(project, batch);
  return { multisig: project.flywheel.multisig.address, batchIndex: batch.batchIndex, content };
}
