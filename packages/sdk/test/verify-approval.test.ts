import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { verifyApproval } from '@flywheel/sdk';
import { setUpBatch } from '@flywheel/testing/batches';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  generateKeyPairSigner,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
} from '@solana/kit';

describe('verifyApproval', () => {
  let world: World;
  let project: TestProject;
  let wallet: string;
  before(async () => {
    world = await openWorld();
    project = await createProject(world);
    wallet = project.wallet.address;
  });
  after(() => world.stop());

  async function setUp() {
    const recipient = (await generateKeyPairSigner()).address;
    const pipelines = [
      {
        type: 'PRODUCT_PURCHASE',
        payload: '{"orderId":"ä 1"}',
        actions: [
          { action: 'BURN' as const, amount: 0.000001 },
          { action: 'AIRDROP' as const, toAddress: recipient, amount: 1_234.5 },
          { action: 'MEMO' as const, message: 'thank you ✓' },
        ],
      },
      { type: 'WATCH_AD', payload: '{"adId":"2"}', actions: [{ action: 'BURN' as const, amount: 7 }] },
    ];
    const opened = await setUpBatch(world, project, pipelines);
    return {
      proposalApproveTx: opened.proposalApproveTx as string,
      batch: {
        multisig: project.multisig,
        vaultAddress: project.vaultAddress,
        mintAddress: project.mintAddress,
        batchIndex: String(opened.batchIndex),
        pipelines,
      },
    };
  }

  it('verifies an honest batch, and lists the steps of its approval', async () => {
    const result = await verifyApproval(world.localnet.url, { wallet, ...(await setUp()) });
    assert.deepEqual({ issues: result.issues, mismatches: result.mismatches }, { issues: [], mismatches: [] });
    assert.ok(result.isVerified);
    assert.equal(result.onChain.proposal.status, 'Active');
    assert.deepEqual(
      result.approval.steps.map(({ kind }) => kind),
      ['nonce', 'computeLimit', 'computePrice', 'vote', 'vote'],
    );
  });

  it('finds every amount, recipient, payload and order that differs from the chain', async () => {
    const { batch, proposalApproveTx } = await setUp();
    const [first, second] = batch.pipelines;
    assert.ok(first && second);
    const stranger = (await generateKeyPairSigner()).address;
    const lies = [
      [{ ...first, actions: first.actions.map((it) => (it.action === 'BURN' ? { ...it, amount: 1 } : it)) }, second],
      [
        { ...first, actions: first.actions.map((it) => ('toAddress' in it ? { ...it, toAddress: stranger } : it)) },
        second,
      ],
      [{ ...first, payload: '{"orderId":"ä 2"}' }, second],
      [{ ...first, actions: first.actions.slice(0, 2) }, second],
      [second, first],
      [first],
      [first, second, second],
    ];
    for (const pipelines of lies) {
      const result = await verifyApproval(world.localnet.url, {
        wallet,
        proposalApproveTx,
        batch: { ...batch, pipelines },
      });
      assert.equal(result.isVerified, false, JSON.stringify(pipelines));
      assert.ok(result.mismatches.length > 0);
    }
  });

  it('finds an approval of another batch, or for another wallet', async () => {
    const [mine, other] = [await setUp(), await setUp()];
    const swapped = await verifyApproval(world.localnet.url, {
      ...mine,
      wallet,
      proposalApproveTx: other.proposalApproveTx,
    });
    assert.match(swapped.issues.join(' '), /approves another proposal/);
    const stranger = (await generateKeyPairSigner()).address;
    const foreign = await verifyApproval(world.localnet.url, { ...mine, wallet: stranger });
    assert.equal(foreign.isVerified, false);
    assert.match(foreign.mismatches.map(({ text }) => text).join(' '), /has no vote/);
  });

  it('finds an approval that advances a nonce of the wallet, or makes the wallet pay', async () => {
    const setup = await setUp();
    const lies = [
      [withNonceAuthority(setup.proposalApproveTx, wallet), /a nonce of your wallet/],
      [withFeePayer(setup.proposalApproveTx, wallet), /Your wallet would pay the fee/],
    ] as const;
    for (const [proposalApproveTx, fault] of lies) {
      const result = await verifyApproval(world.localnet.url, { ...setup, wallet, proposalApproveTx });
      assert.match(result.issues.join(' '), fault);
      assert.equal(result.isVerified, false);
    }
  });

  it('finds a vault that does not belong to the multisig', async () => {
    const { batch, proposalApproveTx } = await setUp();
    const vaultAddress = (await generateKeyPairSigner()).address;
    const result = await verifyApproval(world.localnet.url, {
      wallet,
      proposalApproveTx,
      batch: { ...batch, vaultAddress },
    });
    assert.match(result.mismatches.map(({ text }) => text).join(' '), /The vault shown is/);
  });

  it('finds a proposal that is still a draft, and could receive more messages after the signature', async () => {
    const setup = await setUp();
    const proxy = await openDraftProxy(world.localnet.url);
    try {
      const result = await verifyApproval(proxy.url, { wallet, ...setup });
      assert.equal(result.isVerified, false);
      assert.deepEqual(result.mismatches, [{ pipeline: null, text: 'The proposal on chain is Draft, not Active.' }]);
    } finally {
      proxy.stop();
    }
  });
});

type Message = ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>['decode']>;

function rewritten(wire: string, rewrite: (message: Extract<Message, { version: 0 }>) => Message): string {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(wire));
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (message.version !== 0) throw new Error('An approval is version 0.');
  const bytes = Uint8Array.from(getCompiledTransactionMessageEncoder().encode(rewrite(message)));
  const signatures = Buffer.alloc(1 + 64 * message.header.numSignerAccounts);
  signatures.writeUInt8(message.header.numSignerAccounts);
  return Buffer.concat([signatures, bytes]).toString('base64');
}

function withNonceAuthority(wire: string, authority: string): string {
  return rewritten(wire, (message) => {
    const [advance, ...others] = message.instructions;
    const [nonce = 0, blockhashes = 0] = advance?.accountIndices ?? [];
    const accounts: readonly string[] = message.staticAccounts;
    const place = accounts.indexOf(authority);
    if (!advance || place === -1) throw new Error(`${authority} signs no advance.`);
    const instructions = [{ ...advance, accountIndices: [nonce, blockhashes, place] }, ...others];
    return { ...message, instructions };
  });
}

/** Makes another signer the fee payer: both accounts change places, and so do their roles. */
function withFeePayer(wire: string, payer: string): string {
  return rewritten(wire, (message) => {
    const staticAccounts = [...message.staticAccounts];
    const accounts: readonly string[] = staticAccounts;
    const place = accounts.indexOf(payer);
    const [first, found] = [staticAccounts[0], staticAccounts[place]];
    if (!first || !found) throw new Error(`${payer} is not in it.`);
    staticAccounts[0] = found;
    staticAccounts[place] = first;
    return { ...message, staticAccounts };
  });
}

/** Starts an RPC node that shows every proposal as a draft. */
async function openDraftProxy(rpcUrl: string): Promise<{ readonly url: string; stop(): void }> {
  const proxy = createServer(async (request, response) => {
    const body = await text(request);
    const answer = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    response.setHeader('content-type', 'application/json').end(asDrafts(await answer.text()));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return { url: `http://127.0.0.1:${address.port}`, stop: () => proxy.close() };
}

/** Anchor's discriminator of a proposal; its status follows its multisig and its index. */
const PROPOSAL = Buffer.from([26, 94, 189, 187, 116, 136, 53, 33]);
const STATUS_OFFSET = 8 + 32 + 8;
const DRAFT = 0;

function asDrafts(answer: string): string {
  return answer.replaceAll(/"([A-Za-z0-9+/]{64,}={0,2})"/g, (found, base64: string) => {
    const account = Buffer.from(base64, 'base64');
    if (!account.subarray(0, PROPOSAL.length).equals(PROPOSAL)) return found;
    account.writeUInt8(DRAFT, STATUS_OFFSET);
    return `"${account.toString('base64')}"`;
  });
}
