import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AuditOptions, type AuditQuery, type AuditRecord, auditVault } from '@flywheel/sdk';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import {
  addressNamed,
  openSyntheticVault,
  type SyntheticCall,
  type SyntheticVault,
} from '@flywheel/testing/synthetic-vault';
import { AccountRole, type Address, createNoopSigner } from '@solana/kit';
import {
  AuthorityType,
  getBurnInstruction,
  getCloseAccountInstruction,
  getSetAuthorityInstruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';

describe('an audit', () => {
  it('finds every outflow without a proof, also one that a deposit of the same transaction covers', async () => {
    await using vault = await openSyntheticVault();
    vault.depositLamports(1_000n);
    vault.depositTokens(1_000n);
    const [unproven = ''] = vault.runBatch([{ proof: null, sent: 10n }]);
    const [mixed = ''] = vault.runBatch([pipeline(1), { proof: null, burned: 20n }]);
    const byDelegate = vault.land([transferTokens(vault, 30n)], moved(vault, 30n));
    const covered = vault.land([transferTokens(vault, 40n)], { tokens: { [vault.tokens]: 0n } });
    const limit = { programAddress: SQUADS_PROGRAM_ADDRESS, data: Uint8Array.of(16, 57, 130, 127, 193, 20, 155, 134) };
    const accounts = [{ address: vault.multisig, role: AccountRole.READONLY }];
    const spent = vault.land([{ instruction: { ...limit, accounts } }], {
      named: [vault.vault],
      lamports: { [vault.vault]: -50n },
    });
    const { report, records } = await audit(vault);
    assert.deepEqual(outflows(records), [
      [spent, 50n, null],
      [covered, 40n, vault.mint],
      [byDelegate, 30n, vault.mint],
      [mixed, 20n, vault.mint],
      [unproven, 10n, vault.mint],
    ]);
    assert.deepEqual([report.isExplained, report.isComplete, report.counts.unexplained], [false, true, 5]);
    assert.equal(report.pipelines.withoutProof, 2);
    assert.deepEqual(
      records.flatMap((record) => (record.kind === 'foreign' ? [record.discriminator] : [])),
      ['1039827fc1149b86'],
    );
    const tokens = report.assets.find(({ mint }) => mint === vault.mint);
    assert.deepEqual([tokens?.unexplained, tokens?.deposited], [100n, 1_040n]);
  });

  it('counts nothing that a stranger moves in an account before the vault becomes its owner', async () => {
    for (const was of ['the stranger', 'the vault', 'none'] as const) {
      for (const { how, left } of strangersMoves) {
        await using vault = await openSyntheticVault();
        vault.depositTokens(10n);
        const account = addressNamed('gift');
        const close = { account, destination: vault.stranger, owner: createNoopSigner(vault.stranger) };
        const opened = { [account]: { mint: vault.mint, owner: vault.vault, amount: left } };
        // The stranger has kept the right to close the empty account of the vault, and creates it again as their own.
        const isVaults = was === 'the vault';
        const before = { mint: vault.mint, owner: isVaults ? vault.vault : vault.stranger, amount: 0n };
        if (was !== 'none') vault.land([], { opened: { [account]: before }, named: [account, TOKEN_PROGRAM_ADDRESS] });
        vault.land(
          [
            ...(isVaults ? [{ instruction: getCloseAccountInstruction(close) }] : []),
            ...how(vault, account),
            giveTo(vault.vault, vault, account),
          ],
          { closed: [account], opened, named: [vault.vault] },
        );
        const { report, records } = await audit(vault, { multisig: vault.multisig });
        assert.deepEqual([outflows(records), report.isExplained, report.gaps], [[], true, []], `it was of ${was}`);
        const tokens = report.assets.find(({ mint }) => mint === vault.mint);
        assert.deepEqual([tokens?.deposited, tokens?.closing], [10n + left, 10n + left]);
      }
    }
  });

  it('finds what goes out through an account that the vault owns only afterwards', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    const [account, authority] = [addressNamed('detour'), createNoopSigner(vault.stranger)];
    const opened = { [account]: { mint: vault.mint, owner: vault.stranger, amount: 0n } };
    vault.land([], { opened, named: [account, TOKEN_PROGRAM_ADDRESS] });
    const [out, on, back] = [
      { source: vault.tokens, destination: account },
      { source: account, destination: vault.strangerTokens },
      { source: addressNamed('funder tokens'), destination: vault.tokens },
    ].map((way) => ({ instruction: getTransferInstruction({ ...way, amount: 60n, authority }) }));
    assert.ok(out && on && back);
    const owners = { [account]: vault.vault };
    const taken = vault.land([out, on, back, giveTo(vault.vault, vault, account)], { owners });
    const { report, records } = await audit(vault, { multisig: vault.multisig });
    assert.deepEqual(outflows(records), [[taken, 60n, vault.mint]]);
    assert.deepEqual([report.isExplained, report.gaps], [false, []]);
  });

  it('follows token accounts that the vault no longer owns, back to their beginning', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    vault.runBatch([pipeline(1)]);
    const given = vault.giveAway(addressNamed('old account'), 77n);
    const { report, records } = await audit(vault);
    assert.deepEqual(report.gaps, []);
    assert.deepEqual(outflows(records), [[given, 77n, vault.mint]]);
    const tokens = report.assets.find(({ mint }) => mint === vault.mint);
    assert.deepEqual([tokens?.deposited, tokens?.closing], [1_077n, 990n]);
  });

  it('keeps two mints of one address apart: a token account that is closed and created again with another', async () => {
    for (const isAtOnce of [true, false]) {
      await using vault = await openSyntheticVault();
      const [account, before, after] = [addressNamed('account'), addressNamed('old mint'), addressNamed('new mint')];
      const named = [account, TOKEN_PROGRAM_ADDRESS];
      vault.land([], { opened: { [account]: { mint: before, owner: vault.vault, amount: 50n } }, named });
      const middle = vault.slot();
      const opened = { [account]: { mint: after, owner: vault.vault, amount: 70n } };
      if (isAtOnce) vault.land([], { closed: [account], opened, named });
      else for (const effects of [{ closed: [account] }, { opened }]) vault.land([], { ...effects, named });
      const totals = async (bounds: { readonly from?: number; readonly to?: number }) => {
        const { report } = await audit(vault, { multisig: vault.multisig, ...bounds });
        assert.deepEqual(report.gaps, []);
        return report.assets
          .filter(({ mint }) => mint === before || mint === after)
          .map((asset) => [
            asset.mint,
            asset.decimals,
            asset.opening,
            asset.deposited,
            asset.unexplained,
            asset.closing,
          ])
          .toSorted(([a], [b]) => (a === before ? -1 : b === before ? 1 : 0));
      };
      assert.deepEqual(await totals({}), [
        [before, 6, 0n, 50n, 50n, 0n],
        [after, 6, 0n, 70n, 0n, 70n],
      ]);
      assert.deepEqual(await totals({ to: middle }), [[before, 6, 0n, 50n, 0n, 50n]]);
      assert.deepEqual(await totals({ from: middle + 1 }), [
        [before, 6, 50n, 0n, 50n, 0n],
        [after, 6, 0n, 70n, 0n, 70n],
      ]);
    }
  });

  it('names every gap: a hidden transaction that moved something, one that moved nothing, a lost one, a short history', async () => {
    const deeds: readonly [RegExp, (vault: SyntheticVault, executions: readonly string[]) => void][] = [
      [
        /It had 0\.\d+ tokens after the transaction \w+, and 0\.\d+ tokens before/,
        ({ node }, [first = '']) => node.hide(first),
      ],
      [/pipeline 4 of the batch 2 is missing/, ({ node }, [, , second = '']) => node.hide(second)],
      [/No node has the transaction/, ({ node }, [first = '']) => node.forget(first)],
      [/Its known history begins here, with [\d.,]+ SOL/, ({ node, slot }) => node.prune(slot() - 3)],
    ];
    for (const [expected, act] of deeds) {
      await using vault = await openSyntheticVault();
      vault.depositTokens(1_000n);
      const first = vault.runBatch(Array.from({ length: 10 }, (_, i) => pipeline(i)));
      const idle = vault.runBatch(Array.from({ length: 10 }, (_, i) => ({ proof: pipeline(100 + i).proof })));
      act(vault, [...first, ...idle]);
      const { report } = await audit(vault, { multisig: vault.multisig });
      assert.ok(
        report.gaps.some(({ reason }) => expected.test(reason)),
        JSON.stringify(report.gaps),
      );
      assert.ok(report.gaps.every(({ fromSlot, toSlot }) => fromSlot <= toSlot && toSlot <= vault.slot()));
      assert.equal(report.isComplete, false);
    }
  });

  it('names the gap of a token account that was created again with another mint and the same balance', async () => {
    await using vault = await openSyntheticVault();
    const [account, before, after] = [addressNamed('account'), addressNamed('old mint'), addressNamed('new mint')];
    const named = [account, TOKEN_PROGRAM_ADDRESS];
    const opened = (mint: Address) => ({ [account]: { mint, owner: vault.vault, amount: 50n } });
    const first = vault.land([], { opened: opened(before), named });
    vault.node.hide(vault.land([], { closed: [account], opened: opened(after), named }));
    vault.land([], { tokens: { [account]: 20n }, named });
    const { report } = await audit(vault, { multisig: vault.multisig });
    const reason = `It was of the mint ${before} after the transaction ${first}, and of ${after} before the next known one.`;
    assert.deepEqual([report.gaps.map((gap) => gap.reason), report.isComplete], [[reason], false]);
  });

  it('counts once what an account received in the slot in which the vault gave it away', async () => {
    await using vault = await openSyntheticVault();
    const account = addressNamed('old account');
    vault.openAccount(account, vault.mint);
    const named = [account, vault.vault, TOKEN_PROGRAM_ADDRESS];
    vault.land([], { tokens: { [account]: 77n }, named });
    const given = vault.land([], { owners: { [account]: vault.stranger }, named, isInSameSlot: true });
    const { report, records } = await audit(vault, { multisig: vault.multisig });
    assert.deepEqual([outflows(records), report.gaps], [[[given, 77n, vault.mint]], []]);
    assert.equal(report.assets.find(({ mint }) => mint === vault.mint)?.deposited, 77n);
  });

  it('counts what is done with the multisig in the period, and not after it', async () => {
    await using vault = await openSyntheticVault();
    const accounts = [{ address: vault.multisig, role: AccountRole.READONLY }];
    const foreign = {
      programAddress: SQUADS_PROGRAM_ADDRESS,
      data: Uint8Array.of(16, 57, 130, 127, 193, 20, 155, 134),
    };
    vault.land([{ instruction: { ...foreign, accounts } }]);
    const to = vault.slot();
    vault.land([{ instruction: { ...foreign, accounts } }]);
    const countIn = async (bounds: { readonly to?: number }) =>
      (await audit(vault, { multisig: vault.multisig, ...bounds })).report.counts.foreign;
    assert.deepEqual([await countIn({}), await countIn({ to })], [2, 1]);
  });

  it('takes no gap for a transaction that names a token account and no token program', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(10n);
    vault.land([], { named: [vault.tokens] });
    assert.deepEqual((await audit(vault, { multisig: vault.multisig })).report.gaps, []);
  });

  it('reads each transaction once, and holds hundreds of token accounts of strangers', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    vault.runBatch([pipeline(1)]);
    for (let i = 0; i < 300; i++) vault.openAccount(addressNamed(`spam ${i}`), addressNamed(`spam mint ${i}`));
    const { report } = await audit(vault);
    assert.deepEqual([report.gaps, report.assets.length], [[], 302]);
    // One more, by which the audit finds the multisig.
    assert.ok(vault.node.calls('getTransaction') <= report.transactions.read + 1);
  });

  it('goes on again from a state from which it was interrupted in the middle of a slot', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    for (let i = 0; i < 3; i++) vault.runBatch([pipeline(2 * i), pipeline(2 * i + 1)]);
    const whole = await audit(vault);
    const stopped = new Error('stopped');
    let state: AuditOptions['resume'];
    const onCheckpoint: AuditOptions['onCheckpoint'] = (saved) => {
      state ??= structuredClone(saved);
      throw stopped;
    };
    await assert.rejects(audit(vault, {}, { onCheckpoint }), stopped);
    assert.ok(state);
    let records = 0;
    const onRecord = () => {
      records += 1;
      if (records === 2) throw stopped;
    };
    const { node, vault: address } = vault;
    await assert.rejects(auditVault(node.url, { vault: address }, { resume: state, onRecord }), stopped);
    assert.deepEqual((await audit(vault, {}, { resume: state })).report, whole.report);
  });

  it('goes on from its state after any slot', async () => {
    await using vault = await openSyntheticVault();
    vault.depositTokens(1_000n);
    for (let i = 0; i < 5; i++) vault.runBatch([pipeline(i), { proof: null, sent: 1n }]);
    const whole = await audit(vault);
    const records: AuditRecord[] = [];
    const stopped = new Error('stopped');
    let state: AuditOptions['resume'];
    for (let slots = 0; ; slots = 0) {
      const onCheckpoint: AuditOptions['onCheckpoint'] = (saved) => {
        state = structuredClone(saved);
        slots += 1;
        if (slots === 3) throw stopped;
      };
      const part = await audit(vault, {}, { onCheckpoint, ...(state && { resume: state }) }, records).catch((error) => {
        if (error !== stopped) throw error;
        return null;
      });
      if (part) {
        assert.deepEqual(part.report, whole.report);
        break;
      }
    }
    assert.deepEqual(records, whole.records);
    await assert.rejects(audit(vault, {}, { commitment: 'confirmed', ...(state && { resume: state }) }), {
      message: 'The state is that of an audit at the commitment finalized, not confirmed.',
    });
    assert.ok(state);
    const other = { vault: vault.stranger };
    await assert.rejects(
      auditVault(vault.node.url, other, { resume: state }),
      /^RangeError: The state is that of an audit of/,
    );
    const elsewhere = { ...state, genesisHash: 'another' };
    await assert.rejects(audit(vault, {}, { resume: elsewhere }), { message: 'The state is of another cluster.' });
  });
});

async function audit(
  { node, vault }: SyntheticVault,
  query: Omit<AuditQuery, 'vault'> = {},
  options: AuditOptions = {},
  records: AuditRecord[] = [],
) {
  const onRecord = (record: AuditRecord) => void records.push(record);
  return { report: await auditVault(node.url, { vault, ...query }, { ...options, onRecord }), records };
}

function pipeline(number: number) {
  return { proof: { type: 'WATCH_AD', payload: `{"adId":"${number}"}` }, burned: 3n, sent: 7n };
}

function transferTokens({ tokens, strangerTokens, mint, stranger }: SyntheticVault, amount: bigint) {
  const authority = createNoopSigner(stranger);
  const transfer = { source: tokens, destination: strangerTokens, mint, amount, decimals: 6, authority };
  return { instruction: getTransferCheckedInstruction(transfer) };
}

/** Instructions of a stranger with their own tokens, and what they leave in the account. */
const strangersMoves: readonly {
  readonly how: (vault: SyntheticVault, account: Address) => SyntheticCall[];
  readonly left: bigint;
}[] = [
  {
    how: ({ stranger, strangerTokens }, source) => {
      const transfer = { source, destination: strangerTokens, amount: 1_000n, authority: createNoopSigner(stranger) };
      return [{ instruction: getTransferInstruction(transfer) }];
    },
    left: 0n,
  },
  {
    how: ({ stranger, strangerTokens, mint }, source) => {
      const transfer = { source, destination: strangerTokens, mint, amount: 1_000n, decimals: 6 };
      return [{ instruction: getTransferCheckedInstruction({ ...transfer, authority: createNoopSigner(stranger) }) }];
    },
    left: 5n,
  },
  {
    how: ({ stranger, mint }, account) => {
      const burn = { account, mint, amount: 1_000n, authority: createNoopSigner(stranger) };
      return [{ instruction: getBurnInstruction(burn) }];
    },
    left: 0n,
  },
];

function giveTo(newAuthority: Address, { stranger }: SyntheticVault, owned: Address): SyntheticCall {
  const change = { owned, owner: createNoopSigner(stranger), newAuthority };
  return { instruction: getSetAuthorityInstruction({ ...change, authorityType: AuthorityType.AccountOwner }) };
}

function moved({ tokens, strangerTokens }: SyntheticVault, amount: bigint) {
  return { tokens: { [tokens]: -amount, [strangerTokens]: amount } };
}

function outflows(records: readonly AuditRecord[]) {
  return records.flatMap((record) =>
    record.kind === 'unexplained' ? [[record.signature, record.amountBaseUnits, record.mint]] : [],
  );
}
