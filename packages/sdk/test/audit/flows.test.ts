import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { proofMemo } from '@flywheel/protocol';
import { type AuditRecord, auditVault } from '@flywheel/sdk';
import {
  addressNamed,
  memoBy,
  openSyntheticVault,
  type SyntheticInner,
  type SyntheticVault,
} from '@flywheel/testing/synthetic-vault';
import { type Address, createNoopSigner, type Instruction } from '@solana/kit';
import {
  getCreateAccountAllowPrefundInstruction,
  getCreateAccountInstruction,
  getCreateAccountWithSeedInstruction,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import {
  getCloseAccountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';

const PROOF = { type: 'WATCH_AD', payload: '{"adId":"1"}' };

describe('what moves out of a vault', () => {
  it('is rent only while a token account is created, not after it', async () => {
    await using vault = await openSyntheticVault();
    vault.depositLamports(1_000_000n);
    const ata = addressNamed('new tokens');
    const of = { owner: vault.stranger, mint: vault.mint, ata, payer: createNoopSigner(vault.vault) };
    execute(vault, [
      getCreateAssociatedTokenIdempotentInstruction(of),
      { ...createAccount(vault, 2_000n), stackHeight: 3 },
      sendSol(vault, 500n),
    ]);
    assert.deepEqual(await solOf(vault), [
      ['rent', 2_000n],
      ['airdropped', 500n],
      ['deposited', 1_000_000n],
    ]);
  });

  for (const [name, create] of [
    ['', createAccount],
    [
      ' with a seed',
      ({ vault, stranger }: SyntheticVault, amount: bigint) =>
        getCreateAccountWithSeedInstruction({
          ...{ payer: createNoopSigner(vault), newAccount: stranger, base: vault, seed: 'seed', amount, space: 0 },
          ...{ baseAccount: createNoopSigner(vault), programAddress: SYSTEM_PROGRAM_ADDRESS },
        }),
    ],
    [
      ' that holds SOL already',
      ({ vault, stranger }: SyntheticVault, lamports: bigint) =>
        getCreateAccountAllowPrefundInstruction({
          ...{ payer: createNoopSigner(vault), newAccount: createNoopSigner(stranger), lamports, space: 0 },
          programAddress: SYSTEM_PROGRAM_ADDRESS,
        }),
    ],
  ] as const) {
    it(`is found if it pays for an account${name}, although a deposit of the same transaction covers it`, async () => {
      await using vault = await openSyntheticVault();
      vault.depositLamports(1_000n);
      const index = vault.takeIndex();
      vault.land([vault.creation(index)]);
      vault.land([vault.executionOf(index, 0, [create(vault, 700n)])], { named: [vault.vault] });
      assert.deepEqual(await solOf(vault), [
        ['unexplained', 700n],
        ['deposited', 700n],
        ['deposited', 1_000n],
      ]);
    });
  }

  it('is found in an account that was opened in the same transaction, if the vault signs', async () => {
    await using vault = await openSyntheticVault();
    const [account, other] = [addressNamed('other tokens'), addressNamed('other mint')];
    const opened = { [account]: { mint: vault.mint, owner: vault.vault, amount: 0n } };
    const index = vault.takeIndex();
    vault.land([vault.creation(index)]);
    vault.land([vault.executionOf(index, 0, [sendTokens(vault, account, vault.mint)])], { opened });
    // The account is closed, and opened again with another mint.
    const again = { [account]: { mint: other, owner: vault.vault, amount: 0n } };
    const owner = createNoopSigner(vault.vault);
    vault.land(
      [
        vault.executionOf(index, 1, [
          getCloseAccountInstruction({ account, destination: vault.stranger, owner }),
          sendTokens(vault, account, other),
        ]),
      ],
      { closed: [account], opened: again },
    );
    const records = await recordsOf(vault);
    const found = records.flatMap((record) =>
      'mint' in record && record.mint !== null ? [[record.kind, record.mint, record.amountBaseUnits]] : [],
    );
    assert.deepEqual(found, [
      ['unexplained', other, 60n],
      ['deposited', other, 60n],
      ['unexplained', vault.mint, 60n],
      ['deposited', vault.mint, 60n],
    ]);
  });
});

/** Executes a pipeline with a proof, which takes 2,500 lamports out of the vault. */
function execute(vault: SyntheticVault, inner: readonly SyntheticInner[]): void {
  const index = vault.takeIndex();
  vault.land([vault.creation(index)]);
  const memo = memoBy(vault.vault, proofMemo(PROOF));
  vault.land([vault.executionOf(index, 0, [memo, ...inner])], {
    lamports: { [vault.vault]: -2_500n },
    named: [vault.vault],
  });
}

function createAccount({ vault, stranger }: SyntheticVault, lamports: bigint): Instruction {
  return getCreateAccountInstruction({
    ...{ payer: createNoopSigner(vault), newAccount: createNoopSigner(stranger), lamports, space: 165 },
    programAddress: TOKEN_PROGRAM_ADDRESS,
  });
}

function sendSol({ vault, stranger }: SyntheticVault, amount: bigint): Instruction {
  return getTransferSolInstruction({ source: createNoopSigner(vault), destination: stranger, amount });
}

function sendTokens({ vault, strangerTokens }: SyntheticVault, source: Address, mint: Address): Instruction {
  const transfer = { source, mint, destination: strangerTokens, amount: 60n, decimals: 6 };
  return getTransferCheckedInstruction({ ...transfer, authority: createNoopSigner(vault) });
}

async function recordsOf({ node, vault, multisig }: SyntheticVault): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  await auditVault(node.url, { vault, multisig }, { onRecord: (record) => void records.push(record) });
  return records;
}

async function solOf(vault: SyntheticVault) {
  const records = await recordsOf(vault);
  return records.flatMap((record) =>
    'mint' in record && record.mint === null ? [[record.kind, record.amountBaseUnits]] : [],
  );
}
