import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isFlywheelError, verifyAndSignRegistration, verifyRegistered, verifyRegistration } from '@flywheel/sdk';
import { PROGRAM_CONFIG_DISCRIMINATOR, programConfigDecoder, programConfigEncoder } from '@flywheel/squads';
import { waitUntil } from '@flywheel/testing/batches';
import { send } from '@flywheel/testing/client';
import { requireOk, signIn, signWith } from '@flywheel/testing/project';
import { forgeRegistration, REGISTRATION_LIES, type ServedRegistration } from '@flywheel/testing/registration-lies';
import { signSuccession } from '@flywheel/testing/successions';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  type Address,
  address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  generateKeyPairSigner,
  type KeyPairSigner,
} from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { alterSquads, openAlteringProxy, openProxy } from './altering-proxy.ts';
import { registeredLies } from './registered-lies.ts';

const alterProgramConfig = alterSquads(PROGRAM_CONFIG_DISCRIMINATOR, programConfigDecoder, programConfigEncoder);
const LAMPORTS = 1_000_000_000n;

describe('verifyAndSignRegistration', () => {
  let world: World;
  let rpcUrl: string;
  let mint: Address;
  let stranger: Address;
  let company: Address;
  let recovery: Address;
  before(async () => {
    recovery = (await generateKeyPairSigner()).address;
    world = await openWorld({ RECOVERY_ADDRESS: recovery });
    rpcUrl = world.localnet.url;
    mint = await world.localnet.bank.createMint(6, false);
    [stranger, company] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
  });
  after(() => world.stop());

  it('signs an honest registration, and names its members and what it costs', async () => {
    const { wallet, cookie, registration } = await begin();
    const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration });
    const project = await confirm(cookie, registration.registrationId, signedTransaction);
    await verifyRegistered(rpcUrl, terms, project);
    const paid = LAMPORTS - (await balanceOf(wallet.address));
    assert.equal(terms.costLamports, paid);
    assert.equal(String(terms.costLamports), registration.costLamports);
    assert.deepEqual([terms.operator, terms.recovery], [world.operator.address, recovery]);
    const { company: stored } = await world.db
      .selectFrom('flywheels')
      .select('company')
      .where('multisig', '=', terms.multisig)
      .executeTakeFirstOrThrow();
    assert.equal(terms.company, stored);
  });

  it('signs a registration of a Token-2022 mint', async () => {
    const token2022 = await world.localnet.bank.createMint(9, true);
    const { wallet, registration } = await begin(token2022);
    const { terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint: token2022, registration });
    assert.equal(terms.mint, token2022);
  });

  for (const { name, expected, forge, lands } of REGISTRATION_LIES) {
    it(`does not sign a registration that ${name}`, async () => {
      const wallet = await fundedWallet();
      const registration = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company }, forge);
      await assertRefused(wallet, { registration }, expected);
      // The chain alone would not protect the wallet.
      if (lands) assert.equal(await simulate(wallet, registration), null, 'the lie would not land');
    });
  }

  it('does not sign a registration whose multisig or vault the service shows as another', async () => {
    const wallet = await fundedWallet();
    const honest = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
    for (const field of ['multisig', 'vaultAddress'] as const) {
      const shown = new RegExp(`The service shows the (multisig|vault) ${stranger}; it is ${honest[field]}`);
      await assertRefused(wallet, { registration: { ...honest, [field]: stranger } }, shown);
    }
  });

  it('does not sign a registration of another mint than the wallet’s holder asked for', async () => {
    const wallet = await fundedWallet();
    const other = await world.localnet.bank.createMint(6, false);
    const registration = await forgeRegistration(world, { wallet: wallet.address, mint: other, stranger, company });
    await assertRefused(
      wallet,
      { registration },
      /Instruction 3 does not fill the lookup table as a registration does/,
    );
  });

  it('does not sign a registration with another company or operator than expected', async () => {
    const wallet = await fundedWallet();
    const registration = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
    await assertRefused(
      wallet,
      { registration, expect: { company: stranger } },
      new RegExp(`${company} would vote for the company, not ${stranger}`),
    );
    await assertRefused(
      wallet,
      { registration, expect: { company, operator: stranger } },
      new RegExp(`would be the operator, not ${stranger}`),
    );
    const expect = { company: stranger, operator: stranger };
    const unknownKeys = async (shown: typeof registration) => {
      const result = await verifyRegistration(rpcUrl, { wallet: wallet.address, mint, registration: shown, expect });
      return result.isVerified ? null : result.unknownKeys;
    };
    assert.deepEqual(await unknownKeys(registration), [
      { role: 'company', address: company },
      { role: 'operator', address: world.operator.address },
    ]);
    // A person is not asked to trust the keys of a registration that has other issues.
    assert.deepEqual(await unknownKeys({ ...registration, vaultAddress: stranger }), []);
  });

  it('does not sign a registration with another recovery key than expected, nor with one where none is expected', async () => {
    const wallet = await fundedWallet();
    const of = { wallet: wallet.address, mint, stranger, company };
    const registration = await forgeRegistration(world, { ...of, recovery });
    const { terms } = await verifyAndSignRegistration(rpcUrl, {
      ...{ wallet, mint, registration },
      expect: { recovery: [stranger, recovery] },
    });
    assert.equal(terms.recovery, recovery);
    for (const [expected, named] of [[null, 'none'] as const, [stranger, stranger] as const]) {
      const issue = new RegExp(`The recovery key would be ${recovery}, not ${named}`);
      await assertRefused(wallet, { registration, expect: { recovery: expected } }, issue);
    }
    const without = await forgeRegistration(world, of);
    const issue = new RegExp(`The recovery key would be none, not ${recovery}`);
    await assertRefused(wallet, { registration: without, expect: { recovery } }, issue);
  });

  it('signs a registration with the successors of the keys that are expected, and names their predecessors', async () => {
    const wallet = await fundedWallet();
    const [before, first, operatorBefore] = await generateKeys();
    const operator = world.operator.address;
    const genesisHash = await world.rpc.getGenesisHash().send();
    const successions = await Promise.all([
      signSuccession(before, { role: 'company', to: first.address, genesisHash }),
      signSuccession(first, { role: 'company', to: company, genesisHash }),
      signSuccession(operatorBefore, { role: 'operator', to: operator, genesisHash }),
    ]);
    const forged = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
    const registration = { ...forged, successions };
    const expect = { company: [stranger, before.address], operator: operatorBefore.address };
    const { terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration, expect });
    assert.deepEqual(terms.predecessors, { company: [before.address], operator: [operatorBefore.address] });

    const known = { company, operator };
    const later = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration, expect: known });
    assert.deepEqual(later.terms.predecessors, { company: [], operator: [] });
  });

  it('does not sign a registration whose succession is forged', async () => {
    const wallet = await fundedWallet();
    const [before, thief] = await generateKeys();
    const genesisHash = await world.rpc.getGenesisHash().send();
    const honest = { role: 'company', to: company, genesisHash } as const;
    const forged = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
    const expect = { company: before.address };
    for (const [name, succession] of [
      ['of another key', { ...(await signSuccession(thief, honest)), from: before.address }],
      ['of another cluster', await signSuccession(before, { ...honest, genesisHash: stranger })],
      ['of the other role', { ...(await signSuccession(before, { ...honest, role: 'operator' })), role: 'company' }],
      ['for another key', { ...(await signSuccession(before, { ...honest, to: thief.address })), to: company }],
    ] as const) {
      const registration = { ...forged, successions: [succession] };
      const expected = new RegExp(
        `${company} would vote for the company, not ${before.address}\\. ${before.address} has not signed`,
      );
      await assertRefused(wallet, { registration, expect }, expected).catch((cause: unknown) => {
        throw new Error(`A succession ${name} was accepted.`, { cause });
      });
    }
  });

  it('does not sign a registration for another wallet or another cluster', async () => {
    const [wallet, other] = [await fundedWallet(), await fundedWallet()];
    const foreign = await forgeRegistration(world, { wallet: other.address, mint, stranger, company });
    await assertRefused(wallet, { registration: foreign }, /The members of the multisig must be your wallet/);
    const blockhash = stranger as string as Blockhash;
    const elsewhere = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company, blockhash });
    await assertRefused(wallet, { registration: elsewhere }, /it is for another cluster, or too old/);
  });

  it('does not sign a registration that costs more than a tenth of a SOL, or whose multisig has the wallet’s key as its own', async () => {
    const wallet = await fundedWallet();
    const of = { wallet: wallet.address, mint, stranger, company };
    const registration = await forgeRegistration(world, of);
    const proxy = await openAlteringProxy(
      rpcUrl,
      alterProgramConfig((config) => ({ ...config, multisigCreationFee: 100_000_000n })),
    );
    const { issues } = await verifyRegistration(proxy.url, { wallet: wallet.address, mint, registration });
    proxy.stop();
    assert.match(issues.join(), /^It costs your wallet 10\d{7} lamports; at most 100000000 are accepted\.$/);
    const own = await forgeRegistration(world, { ...of, createKey: wallet });
    await assertRefused(
      wallet,
      { registration: own },
      /It is signed by \w+, not by your wallet and the multisig’s own/,
    );
  });

  it('does not sign what is not a registration at all', async () => {
    const wallet = await fundedWallet();
    const honest = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
    for (const transaction of ['', 'AAAA', honest.transaction.slice(0, 400)]) {
      await assertRefused(wallet, { registration: { ...honest, transaction } }, /it is not a base64 transaction/);
    }
  });

  it('does not sign if its caller does not accept the terms', async () => {
    const { wallet, registration } = await begin();
    const signing = verifyAndSignRegistration(
      rpcUrl,
      { wallet: neverSigning(wallet), mint, registration },
      {
        onVerified: ({ costLamports }) => {
          throw new Error(`${costLamports} is too much`);
        },
      },
    );
    await assert.rejects(signing, /is too much/);
  });

  describe('verifyRegistered', () => {
    it('finds a multisig that the service created with other members at the same address', async () => {
      const wallet = await fundedWallet();
      const honest = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
      const { terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration: honest });
      // The service pays for it, and signs with the multisig's own key, which it has.
      const thief = await fundedWallet();
      const lie = await forgeRegistration(world, {
        ...{ wallet: thief.address, mint, stranger, company },
        createKey: honest.createKey,
      });
      assert.equal(lie.multisig, honest.multisig);
      await land(await signWith(thief, lie.transaction));
      await assert.rejects(
        verifyRegistered(rpcUrl, { ...terms, lookupTable: lie.lookupTable }, answerOf(terms)),
        chainMismatch(/The multisig on chain has the members .*; you signed/),
      );
    });

    it('finds every setting of the multisig and every part of the lookup table that differs from what was signed', async () => {
      const wallet = await fundedWallet();
      const registration = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
      const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration });
      await land(signedTransaction);
      for (const { alter, expected } of registeredLies({ wallet: wallet.address, stranger })) {
        const proxy = await openAlteringProxy(rpcUrl, alter);
        const verified = verifyRegistered(proxy.url, terms, answerOf(terms));
        await assert.rejects(verified, chainMismatch(expected)).finally(() => proxy.stop());
      }
      const proxy = await openProxy(rpcUrl, (answer) =>
        answer.replaceAll(ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, SYSTEM_PROGRAM_ADDRESS),
      );
      const verified = verifyRegistered(proxy.url, terms, answerOf(terms));
      await assert.rejects(verified, chainMismatch(/ \w+ is not a lookup table\.$/)).finally(() => proxy.stop());
    });

    it('waits for the multisig at an address that holds SOL already', async () => {
      const wallet = await fundedWallet();
      const registration = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
      const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration });
      for (const each of [terms.multisig, terms.lookupTable]) await world.localnet.bank.airdrop(each, LAMPORTS);
      await assert.rejects(
        verifyRegistered(rpcUrl, terms, answerOf(terms), { timeoutMs: 0 }),
        chainMismatch(/Deposit nothing yet: your node does not have the multisig/),
      );
      await land(signedTransaction);
      await verifyRegistered(rpcUrl, terms, answerOf(terms));
    });

    it('finds a registration that the service never sent', async () => {
      const wallet = await fundedWallet();
      const registration = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
      const { terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration });
      await assert.rejects(
        verifyRegistered(rpcUrl, terms, answerOf(terms), { timeoutMs: 0 }),
        chainMismatch(/Deposit nothing yet: your node does not have the multisig/),
      );
    });

    it('finds an answer that names another vault, multisig or mint', async () => {
      const wallet = await fundedWallet();
      const registration = await forgeRegistration(world, { wallet: wallet.address, mint, stranger, company });
      const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, { wallet, mint, registration });
      await land(signedTransaction);
      await verifyRegistered(rpcUrl, terms, answerOf(terms));
      for (const field of ['multisig', 'vaultAddress', 'mintAddress'] as const) {
        await assert.rejects(
          verifyRegistered(rpcUrl, terms, { ...answerOf(terms), [field]: stranger }),
          chainMismatch(new RegExp(`The service shows the (multisig|vault|mint) ${stranger}`)),
        );
      }
    });
  });

  async function fundedWallet(): Promise<KeyPairSigner> {
    const wallet = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(wallet.address, LAMPORTS);
    return wallet;
  }

  async function begin(of: Address = mint) {
    const wallet = await fundedWallet();
    const cookie = await signIn(world.url, wallet);
    const limits = { burnLimit: '1', airdropLimit: '1', scopes: ['burn'], proofTypes: [], approvalMode: 'automatic' };
    const body = { mint: of, ...limits };
    const registration = requireOk(
      await send(world.url, 'POST', '/console/api/registrations', { headers: { cookie }, body }),
    );
    return { wallet, cookie, registration };
  }

  async function confirm(cookie: string, registrationId: string, signedTransaction: string) {
    const path = `/console/api/registrations/${registrationId}/confirm`;
    const sent = await send(world.url, 'POST', path, { headers: { cookie }, body: { signedTransaction } });
    return requireOk(sent);
  }

  async function assertRefused(
    wallet: KeyPairSigner,
    input: Omit<Parameters<typeof verifyAndSignRegistration>[1], 'wallet' | 'mint'>,
    expected: RegExp,
  ): Promise<void> {
    await assert.rejects(
      verifyAndSignRegistration(rpcUrl, { wallet: neverSigning(wallet), mint, ...input }),
      (error: unknown) => {
        assert.ok(isFlywheelError(error, 'ERR_SIGNING_REFUSED'), String(error));
        assert.match(error.message, expected);
        return true;
      },
    );
    assert.equal(await balanceOf(wallet.address), LAMPORTS);
  }

  /** Answers the error of the chain if the wallet signed blindly; null if the transaction would land. */
  async function simulate(wallet: KeyPairSigner, { transaction }: ServedRegistration): Promise<unknown> {
    const wire = (await signWith(wallet, transaction)) as Base64EncodedWireTransaction;
    const { value } = await world.rpc
      .simulateTransaction(wire, { encoding: 'base64', sigVerify: true, commitment: 'confirmed' })
      .send();
    return value.err;
  }

  async function land(wire: string): Promise<void> {
    const sent = wire as Base64EncodedWireTransaction;
    const signature = await world.rpc
      .sendTransaction(sent, { encoding: 'base64', preflightCommitment: 'confirmed' })
      .send();
    const read = async () => (await world.rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus;
    await waitUntil(signature, read, (seen) => seen === 'confirmed' || seen === 'finalized', { intervalMs: 20 });
  }

  async function balanceOf(owner: Address): Promise<bigint> {
    return (await world.rpc.getBalance(owner, { commitment: 'confirmed' }).send()).value;
  }
});

/** A wallet that fails the test if it is asked. */
function neverSigning({ address: owner }: KeyPairSigner) {
  const signTransactions = async () => {
    throw new Error('The wallet was asked to sign.');
  };
  return { address: owner, signTransactions };
}

function answerOf(terms: { readonly multisig: Address; readonly vaultAddress: Address; readonly mint: Address }) {
  return { multisig: terms.multisig, vaultAddress: terms.vaultAddress, mintAddress: address(terms.mint) };
}

function chainMismatch(pattern: RegExp) {
  return (error: unknown) => {
    assert.ok(isFlywheelError(error, 'ERR_CHAIN_MISMATCH'), String(error));
    assert.match(error.message, pattern);
    return true;
  };
}

async function generateKeys(): Promise<[KeyPairSigner, KeyPairSigner, KeyPairSigner]> {
  return Promise.all([generateKeyPairSigner(), generateKeyPairSigner(), generateKeyPairSigner()]);
}
