import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type ApprovalSigner,
  type CallOptions,
  proof,
  type RpcUrl,
  readGenesisHash,
  readMint,
  readProposalContent,
  readVaultMovements,
  readVaultProofs,
  verifyAndSign,
  verifyAndSignRegistration,
  verifyApproval,
  verifyRegistered,
  verifyRegistration,
} from '@flywheel/sdk';
import { setUpBatch } from '@flywheel/testing/batches';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { forgeRegistration } from '@flywheel/testing/registration-lies';
import { openWorld, type World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner } from '@solana/kit';
import { PIPELINES } from './batches.ts';
import { startStubService } from './stub-service.ts';

interface Facts {
  readonly project: TestProject;
  readonly approval: Parameters<typeof verifyAndSign>[1];
  readonly registration: Parameters<typeof verifyAndSignRegistration>[1];
  readonly terms: Parameters<typeof verifyRegistered>[1];
}

interface Reader {
  /** Requests that it sends at least, the choice of its node included. */
  readonly requests: number;
  readonly read: (nodes: RpcUrl, facts: Facts, call: CallOptions) => Promise<unknown>;
}

/** Below the 20 s after which the SDK gives up an attempt by itself: a request without the signal is noticed. */
const TIMEOUT_MS = 15_000;
/** A signature that no node knows. */
const SIGNATURE = '1'.repeat(64);
const ROTATION = { action: 'ROTATE', approver: 'company', from: SIGNATURE, to: SIGNATURE } as const;

const READERS: Readonly<Record<string, Reader>> = {
  verifyApproval: {
    requests: 5,
    read: (nodes, { project: { wallet }, approval }, call) =>
      verifyApproval(nodes, { ...approval, wallet: wallet.address }, call),
  },
  'verifyApproval of a rotation': {
    requests: 3,
    read: (nodes, { project: { wallet }, approval }, call) => {
      const batch = { ...approval.batch, pipelines: [{ type: 'A', payload: '', actions: [ROTATION] }] };
      return verifyApproval(nodes, { ...approval, wallet: wallet.address, batch }, call);
    },
  },
  verifyAndSign: { requests: 5, read: (nodes, { approval }, call) => verifyAndSign(nodes, approval, call) },
  verifyRegistration: {
    requests: 7,
    read: (nodes, { registration }, call) => {
      // Another company is known, so that the successions of its key are read.
      const expect = { company: registration.mint };
      return verifyRegistration(nodes, { ...registration, wallet: registration.wallet.address, expect }, call);
    },
  },
  verifyAndSignRegistration: {
    requests: 6,
    read: (nodes, { registration }, call) => verifyAndSignRegistration(nodes, registration, call),
  },
  verifyRegistered: {
    requests: 2,
    read: (nodes, { terms, project }, call) => verifyRegistered(nodes, terms, project, { ...call, timeoutMs: 0 }),
  },
  readMint: { requests: 2, read: (nodes, { project }, call) => readMint(nodes, project.mintAddress, call) },
  readGenesisHash: { requests: 2, read: (nodes, _facts, call) => readGenesisHash(nodes, call) },
  readProposalContent: {
    requests: 3,
    read: (nodes, { approval: { batch } }, call) => readProposalContent(nodes, { ...batch, isRotation: false }, call),
  },
  'readProposalContent of a rotation': {
    requests: 2,
    read: (nodes, { approval: { batch } }, call) => readProposalContent(nodes, { ...batch, isRotation: true }, call),
  },
  readVaultProofs: {
    requests: 2,
    read: (nodes, { project: { vaultAddress: vault } }, call) =>
      readVaultProofs(nodes, { signature: SIGNATURE, vault, commitment: 'confirmed' }, call),
  },
  'proof.verifyOnChain': {
    requests: 2,
    read: (nodes, { project: { vaultAddress: vault } }, call) =>
      proof.verifyOnChain(nodes, { type: 'A', payload: '', signature: SIGNATURE, vault }, call),
  },
  readVaultMovements: {
    requests: 3,
    read: (nodes, { project: { vaultAddress: vault } }, call) =>
      readVaultMovements(nodes, { vault, tokenAccount: vault }, call),
  },
};

describe('a signal that is aborted while a node does not answer', () => {
  let world: World;
  let facts: Facts;
  before(async () => {
    world = await openWorld();
    const project = await createProject(world);
    const { wallet, mintAddress, multisig, vaultAddress } = project;
    const { proposalApproveTx, batchIndex } = await setUpBatch(world, project, PIPELINES);
    const batch = { multisig, vaultAddress, mintAddress, batchIndex: String(batchIndex), pipelines: PIPELINES };
    const [stranger, company] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
    const mint = address(mintAddress);
    const asked = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
    const registration = { wallet, mint, registration: asked };
    const { terms } = await verifyAndSignRegistration(world.localnet.url, registration);
    facts = { project, approval: { wallet, batch, proposalApproveTx }, registration, terms };
  });
  after(() => world.stop());

  it('asks no wallet after the verification', async () => {
    const [controller, reason] = [new AbortController(), new Error('not any more')];
    const wallet: ApprovalSigner = {
      address: facts.project.wallet.address,
      signTransactions: () => assert.fail('The wallet is asked.'),
    };
    const options = { signal: controller.signal, onVerification: () => controller.abort(reason) };
    const signing = verifyAndSign(world.localnet.url, { ...facts.approval, wallet }, options);
    await assert.rejects(signing, (error) => error === reason);
  });

  for (const [name, { requests, read }] of Object.entries(READERS)) {
    it(`rejects ${name} with its reason at every request, and closes all connections`, {
      timeout: TIMEOUT_MS,
    }, async () => {
      for (let answered = 0; ; answered += 1) {
        const controller = new AbortController();
        const reason = new Error(`enough after ${answered}`);
        await using node = await startStubService(async ({ body }, count) => {
          if (count <= answered) return forward(body);
          controller.abort(reason);
          return 'silence';
        });
        const ended = await read([node.url, node.url], facts, { signal: controller.signal }).catch(
          (error: unknown) => error,
        );
        if (!controller.signal.aborted) {
          assert.ok(answered >= requests, `${answered} requests`);
          return;
        }
        assert.equal(ended, reason);
        await node.allGone();
      }
    });
  }

  async function forward(body: string) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(world.localnet.url, { method: 'POST', headers, body });
    return { status: answer.status, body: await answer.text() };
  }
});
