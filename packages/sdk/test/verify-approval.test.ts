import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { type ExpectedMultisig, verifyApproval } from '@flywheel/sdk';
import { PERMISSION } from '@flywheel/squads';
import { setUpBatch } from '@flywheel/testing/batches';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { decodeTransaction } from '@flywheel/testing/values';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  address,
  generateKeyPairSigner,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
} from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { alterBatch, alterMultisig, asDraft, openAlteringProxy, openProxy } from './altering-proxy.ts';
import { APPROVAL_LIES, isVoter, withMembers } from './approval-lies.ts';

describe('verifyApproval', () => {
  let world: World;
  let project: TestProject;
  let wallet: string;
  /** A batch for the tests that only read. */
  let shared: Awaited<ReturnType<typeof setUp>>;
  before(async () => {
    world = await openWorld();
    project = await createProject(world);
    wallet = project.wallet.address;
    shared = await setUp();
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
    const result = await verifyApproval(world.localnet.url, { wallet, ...shared });
    assert.deepEqual({ issues: result.issues, mismatches: result.mismatches }, { issues: [], mismatches: [] });
    assert.ok(result.isVerified);
    assert.equal(result.onChain.proposal.status, 'Active');
    assert.deepEqual(
      result.approval.steps.map(({ kind }) => kind),
      ['nonce', 'computeLimit', 'computePrice', 'vote', 'vote'],
    );
  });

  it('finds every amount, recipient, payload and order that differs from the chain', async () => {
    const { batch, proposalApproveTx } = shared;
    const [first, second] = batch.pipelines;
    assert.ok(first && second);
    const stranger = (await generateKeyPairSigner()).address;
    const lies = [
      [{ ...first, actions: first.actions.map((it) => (it.action === 'BURN' ? { ...it, amount: 1 } : it)) }, second],
      [
        { ...first, actions: first.actions.map((it) => ('toAddress' in it ? { ...it, toAddress: stranger } : it)) },
        second,
      ],
      // More fraction digits than the mint has.
      [first, { ...second, actions: second.actions.map((it) => ({ ...it, amount: 7.0000001 })) }],
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
    const [mine, other] = [shared, await setUp()];
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
    const setup = shared;
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
    const { batch, proposalApproveTx } = shared;
    const vaultAddress = (await generateKeyPairSigner()).address;
    const result = await verifyApproval(world.localnet.url, {
      wallet,
      proposalApproveTx,
      batch: { ...batch, vaultAddress },
    });
    assert.match(result.mismatches.map(({ text }) => text).join(' '), /The vault shown is/);
  });

  for (const { name, alter, expected } of APPROVAL_LIES) {
    it(`finds ${name}`, async () => {
      const stranger = (await generateKeyPairSigner()).address;
      const proxy = await openAlteringProxy(world.localnet.url, alter({ wallet, stranger }));
      try {
        const { isVerified, mismatches } = await verifyApproval(proxy.url, { wallet, ...shared });
        assert.equal(isVerified, false);
        assert.match(mismatches.map(({ text }) => text).join(' '), expected);
      } finally {
        proxy.stop();
      }
    });
  }

  it('reads no batch that claims more pipelines than a batch may have, which would take hours', async () => {
    const proxy = await openAlteringProxy(
      world.localnet.url,
      alterBatch((batch) => ({ ...batch, size: 2 ** 32 - 1 })),
    );
    try {
      await assert.rejects(
        verifyApproval(proxy.url, { wallet, ...shared }),
        /^Error: The node shows a batch of 4294967295 pipelines; none has more than 1000\.$/,
      );
    } finally {
      proxy.stop();
    }
  });

  it('resolves no message by an account that is not a lookup table, since its addresses could change', async () => {
    const proxy = await openProxy(world.localnet.url, (answer) =>
      answer.replaceAll(ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, MEMO_PROGRAM_ADDRESS),
    );
    try {
      await assert.rejects(verifyApproval(proxy.url, { wallet, ...shared }), /is not a lookup table\.$/);
    } finally {
      proxy.stop();
    }
  });

  it('accepts further members who propose and execute without a vote, as a recovery key does', async () => {
    const setup = shared;
    const key = (await generateKeyPairSigner()).address;
    const recovery = { key, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } };
    const proxy = await openAlteringProxy(
      world.localnet.url,
      withMembers((members) => [...members, recovery]),
    );
    try {
      const { isVerified, proposers } = await verifyApproval(proxy.url, { wallet, ...setup });
      assert.ok(isVerified);
      assert.deepEqual(proposers, [world.operator.address, key]);
    } finally {
      proxy.stop();
    }
  });

  it('finds another company or multisig than the caller expects, and accepts both keys of a replacement', async () => {
    const setup = shared;
    const { company } = await world.db
      .selectFrom('flywheels')
      .select('company')
      .where('multisig', '=', address(project.multisig))
      .executeTakeFirstOrThrow();
    const stranger = (await generateKeyPairSigner()).address;
    const verify = (expect: ExpectedMultisig) => verifyApproval(world.localnet.url, { wallet, ...setup, expect });
    assert.ok((await verify({ multisig: project.multisig, company })).isVerified);
    assert.ok((await verify({ company: [stranger, company] })).isVerified);
    assert.deepEqual((await verify({ company: stranger })).mismatches, [
      { pipeline: null, text: `${company} votes for the company; you know ${stranger}.` },
    ]);
    assert.deepEqual((await verify({ multisig: stranger })).mismatches, [
      { pipeline: null, text: `The multisig shown is ${project.multisig}; yours is ${stranger}.` },
    ]);
  });

  it('accepts other members of a known multisig, recovery key beside them, only after it has executed a change', async () => {
    const setup = shared;
    const { multisig } = project;
    const operator = world.operator.address;
    const [stranger, key] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
    const before = { company: stranger, operator: stranger };
    const unchanged = await verifyApproval(world.localnet.url, { wallet, ...setup, expect: { multisig, ...before } });
    assert.deepEqual(
      unchanged.mismatches.map(({ text }) => text.replace(unchanged.company ?? '', 'COMPANY')),
      [
        `COMPANY votes for the company; you know ${stranger}. The members of this multisig were never changed.`,
        `${operator} is the operator; you know ${stranger}. The members of this multisig were never changed.`,
      ],
    );
    const recovery = { key, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } };
    const proxy = await openAlteringProxy(
      world.localnet.url,
      alterMultisig((account) => ({ ...account, members: [...account.members, recovery], staleTransactionIndex: 1n })),
    );
    try {
      const verify = (expect: ExpectedMultisig) => verifyApproval(proxy.url, { wallet, ...setup, expect });
      const changed = await verify({ multisig, ...before });
      assert.deepEqual([changed.isVerified, changed.operator], [true, operator]);
      assert.equal(changed.company, unchanged.company);
      // Without the multisig nothing says that the wallet has approved the change.
      assert.equal((await verify(before)).mismatches.length, 2);
      // The recovery key takes the operator's place only when it collects the rent.
      assert.deepEqual((await verify({ operator: key })).mismatches, [
        { pipeline: null, text: `${operator} is the operator; you know ${key}.` },
      ]);
    } finally {
      proxy.stop();
    }
  });

  it('finds a member with a vote that collects the rent, in the place of the operator of a multisig that has changed', async () => {
    const proxy = await openAlteringProxy(
      world.localnet.url,
      alterMultisig(({ members, ...account }) => {
        const company = members.find((member) => isVoter(member) && member.key !== wallet);
        return { ...account, members, rentCollector: company?.key ?? null, staleTransactionIndex: 1n };
      }),
    );
    try {
      const expect = { multisig: project.multisig, operator: world.operator.address };
      const { operator, mismatches } = await verifyApproval(proxy.url, { wallet, ...shared, expect });
      assert.equal(operator, null);
      assert.deepEqual(mismatches, [
        { pipeline: null, text: `No member is the operator; you know ${world.operator.address}.` },
      ]);
    } finally {
      proxy.stop();
    }
  });

  it('finds a proposal that is still a draft, and could receive more messages after the signature', async () => {
    const setup = shared;
    const proxy = await openAlteringProxy(world.localnet.url, asDraft);
    try {
      const result = await verifyApproval(proxy.url, { wallet, ...setup });
      assert.equal(result.isVerified, false);
      assert.deepEqual(result.mismatches, [{ pipeline: null, text: 'The proposal on chain is Draft, not Active.' }]);
    } finally {
      proxy.stop();
    }
  });
});

type CompiledMessage = ReturnType<ReturnType<typeof getCompiledTransactionMessageDecoder>['decode']>;

function rewritten(
  wire: string,
  rewrite: (message: Extract<CompiledMessage, { version: 0 }>) => CompiledMessage,
): string {
  const { messageBytes } = decodeTransaction(wire);
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
