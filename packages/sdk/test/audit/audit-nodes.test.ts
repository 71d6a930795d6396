import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeBase58 } from '@flywheel/protocol';
import { auditVault, isFlywheelError, verifyProofOnChain } from '@flywheel/sdk';
import { auditVerdict } from '@flywheel/sdk/audit-findings';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import { openSyntheticVault } from '@flywheel/testing/synthetic-vault';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { type Reaction, type StubService, startStubService } from '../stub-service.ts';
import { runVerifier } from './verify-vectors.ts';

const EVENT = { type: 'WATCH_AD', payload: '{"adId":"1"}' };

describe('the nodes of an audit', () => {
  it('are not said to lack a transaction while one of them does not answer', async () => {
    await using vault = await openSyntheticVault();
    const deposited = vault.depositTokens(1_000n);
    vault.runBatch([{ proof: EVENT, burned: 3n }]);
    vault.node.forget(deposited);
    let isAway = true;
    await using archive = await startStubService(() => (isAway ? { status: 403, body: 'Forbidden' } : answerOf(null)));
    const audit = () => auditVault([vault.node.url, archive.url], { vault: vault.vault });
    await assert.rejects(
      audit(),
      (error) => isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && /403/.test(error.message),
    );
    isAway = false;
    const { gaps } = await audit();
    assert.ok(gaps.some(({ reason }) => reason.startsWith(`No node has the transaction ${deposited} `)));
  });

  it('prove and disprove nothing by a transaction of which they have not recorded what it called', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    const [signature = ''] = vault.runBatch([{ proof: EVENT, burned: 3n }]);
    await using brief = await openNode(vault.node.url, (method, result) => {
      if (method === 'getTransaction') Reflect.set(Object(result.meta), 'innerInstructions', null);
      return answerOf(result);
    });
    const proof = { ...EVENT, signature, vault: vault.vault };
    await assert.rejects(
      verifyProofOnChain(brief.url, proof),
      (error) => isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && /has not recorded what/.test(error.message),
    );
    assert.equal((await verifyProofOnChain([brief.url, vault.node.url], proof)).isProven, true);
    const { code } = await runVerifier(brief.url, [signature, vault.vault, EVENT.type, EVENT.payload]);
    assert.equal(code, 2);
    const report = await auditVault(brief.url, { vault: vault.vault });
    assert.deepEqual([auditVerdict(report, null), report.counts.unexplained], ['incomplete', 0]);
    const other = await auditVault([brief.url, vault.node.url], { vault: vault.vault });
    assert.deepEqual([auditVerdict(other, null), other.gaps], ['explained', []]);
  });

  it('are asked again while one of several behind a URL has not reached the slot of the balances', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    let lists = 0;
    await using balanced = await openNode(vault.node.url, (method, result) => {
      lists += method === 'getSignaturesForAddress' ? 1 : 0;
      const isBehind = method === 'getSignaturesForAddress' && lists <= 4;
      const error = { code: -32016, message: 'Minimum context slot has not been reached' };
      return isBehind ? { status: 200, body: { jsonrpc: '2.0', id: 1, error } } : answerOf(result);
    });
    const { gaps } = await auditVault(balanced.url, { vault: vault.vault, multisig: vault.multisig });
    assert.deepEqual(gaps, []);
  });

  it('are asked again for a transaction as new as the balances, which one of several behind a URL may not have yet', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    let reads = 0;
    await using balanced = await openNode(vault.node.url, (method, result) => {
      reads += method === 'getTransaction' ? 1 : 0;
      return answerOf(method === 'getTransaction' && reads <= 3 ? null : result);
    });
    const { gaps } = await auditVault(balanced.url, { vault: vault.vault, multisig: vault.multisig });
    assert.deepEqual(gaps, []);
  });

  it('are not taken to show the beginning of an account whose older history they have deleted', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    await using short = await openNode(vault.node.url, (method, result) => {
      const isEnd = method === 'getSignaturesForAddress' && Array.isArray(result) && result.length === 0;
      const error = { code: -32011, message: 'Transaction history is not available from this node' };
      return isEnd ? { status: 200, body: { jsonrpc: '2.0', id: 1, error } } : answerOf(result);
    });
    const { gaps } = await auditVault(short.url, { vault: vault.vault, multisig: vault.multisig });
    const [gap] = gaps.filter(({ account }) => account === vault.tokens);
    assert.match(gap?.reason ?? '', /begins here, with 0 tokens, and the node has deleted what is older/);
  });

  it('put no text of theirs in the place of a signature or an address, for a report or a spreadsheet', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    for (const [altered, member] of [
      ['getTokenAccountsByOwner', 'pubkey'],
      ['getTokenAccountsByOwner', 'mint'],
      ['getSignaturesForAddress', 'signature'],
      ['getTransaction', 'mint'],
    ] as const) {
      await using hostile = await openNode(vault.node.url, (method, result) => {
        if (method !== altered) return answerOf(result);
        return answerOf(JSON.parse(JSON.stringify(result).replace(`"${member}":"`, `"${member}":"\\u001b[2J`)));
      });
      await assert.rejects(
        auditVault(hostile.url, { vault: vault.vault, multisig: vault.multisig }),
        (error) => isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && !error.message.includes('\u001b'),
        `${altered} ${member}`,
      );
    }
  });

  it('are believed neither a transaction of another slot or another end than they list, nor an amount that is none', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    for (const lie of [
      (result: Result) => ({ ...result, slot: Number(result.slot) - 1 }),
      (result: Result) => ({ ...result, meta: { ...Object(result.meta), err: { InstructionError: [0, 'Custom'] } } }),
      (result: Result) => ({
        ...result,
        meta: { ...Object(result.meta), postBalances: [1.5, 1.5, 1.5, 1.5, 1.5, 1.5] },
      }),
      (result: Result) => JSON.parse(JSON.stringify(result).replaceAll('"amount":"', '"amount":"-')),
    ]) {
      await using lying = await openNode(vault.node.url, (method, result) =>
        answerOf(method === 'getTransaction' ? lie(result) : result),
      );
      await assert.rejects(
        auditVault(lying.url, { vault: vault.vault, multisig: vault.multisig }),
        (error) => isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && error.message.includes('getTransaction'),
      );
    }
  });

  it('end an audit by a list that does not go on to older transactions', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    vault.depositLamports(1_000n);
    for (const multisig of [undefined, vault.multisig]) {
      for (const isOneSlot of [false, true]) {
        await using endless = await startStubService(async ({ body }) => {
          if (!body.includes('getSignaturesForAddress'))
            return { status: 200, body: await (await fetch(vault.node.url, { method: 'POST', body })).text() };
          const signatures = ['a', 'b'].map((name) => encodeBase58(new Uint8Array(64).fill(name.charCodeAt(0))));
          const failed = { err: 'AccountInUse', blockTime: null };
          return answerOf(signatures.map((signature, i) => ({ ...failed, signature, slot: isOneSlot ? 1 : 2 - i })));
        });
        await assert.rejects(
          auditVault(endless.url, { vault: vault.vault, ...(multisig && { multisig }) }),
          (error) =>
            isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && /in no order, or without an end/.test(error.message),
        );
      }
    }
  });

  it('name no decimals that no mint can have', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    for (const method of ['getTokenAccountsByOwner', 'getTransaction']) {
      for (const decimals of [-1, 0.5, 256, 1e9]) {
        await using lying = await openNode(vault.node.url, (asked, result) => {
          const text = JSON.stringify(result).replace(/"decimals":\d+/g, `"decimals":${decimals}`);
          return answerOf(asked === method ? JSON.parse(text) : result);
        });
        await assert.rejects(
          auditVault(lying.url, { vault: vault.vault, multisig: vault.multisig }),
          (error) => isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && error.message.includes(method),
        );
      }
    }
  });

  it('show a multisig only in an account of Squads', async () => {
    await using vault = await openSyntheticVault();
    await using lying = await openNode(vault.node.url, (_method, result) =>
      answerOf(JSON.parse(JSON.stringify(result).replaceAll(SQUADS_PROGRAM_ADDRESS, SYSTEM_PROGRAM_ADDRESS))),
    );
    await assert.rejects(auditVault(lying.url, { vault: vault.vault, multisig: vault.multisig }), {
      message: `${vault.multisig} is not a multisig of Squads.`,
    });
  });

  it('cannot hide a token account of the vault that one of its transactions names', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    const [signature = ''] = vault.runBatch([{ proof: EVENT, burned: 3n }]);
    await using hiding = await openNode(vault.node.url, (method, result) =>
      answerOf(method === 'getTokenAccountsByOwner' ? { ...result, value: [] } : result),
    );
    const { gaps } = await auditVault(hiding.url, { vault: vault.vault });
    assert.deepEqual(
      gaps.map(({ account, reason }) => [account, reason]),
      [
        [
          vault.tokens,
          `It had 0.000997 tokens after the transaction ${signature}, and is no account of the vault now.`,
        ],
      ],
    );
  });

  it('leave no gap by a transaction that lands after the balances were read', async () => {
    await using vault = await openSyntheticVault();
    vault.depositLamports(1_000n);
    let isDone = false;
    await using busy = await openNode(vault.node.url, (method, result) => {
      // The genesis hash is read after the balances.
      if (method === 'getGenesisHash' && !isDone) vault.depositLamports(7n);
      isDone ||= method === 'getGenesisHash';
      return answerOf(result);
    });
    const { gaps, assets } = await auditVault(busy.url, { vault: vault.vault, multisig: vault.multisig });
    assert.deepEqual([gaps, assets.find(({ mint }) => mint === null)?.deposited], [[], 1_000n]);
  });
});

type Result = Readonly<Record<string, unknown>>;

/** Starts a node that passes all calls on to another one, and answers as `respond` makes of the result. */
function openNode(url: string, respond: (method: string, result: Result) => Reaction): Promise<StubService> {
  return startStubService(async ({ body }) => {
    const { method } = JSON.parse(body);
    const answered = await fetch(url, { method: 'POST', body });
    return respond(method, JSON.parse(await answered.text()).result);
  });
}

function answerOf(result: unknown): Reaction {
  return { status: 200, body: { jsonrpc: '2.0', id: 1, result } };
}
