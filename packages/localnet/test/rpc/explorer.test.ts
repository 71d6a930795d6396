import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Address, address, generateKeyPairSigner, type Instruction, lamports } from '@solana/kit';
import { getCreateAccountInstruction, getTransferSolInstruction } from '@solana-program/system';
import {
  AuthorityType,
  findAssociatedTokenPda,
  getBurnCheckedInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getSetAuthorityInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { AuthorityType as AuthorityType2022 } from '@solana-program/token-2022';
import { parseInstruction } from '../../src/encoding/instruction-parsing.ts';
import { startCluster } from '../cluster.ts';
import { createTable } from '../lookup-table.ts';

const MEMO_PROGRAM = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr');
const TOKEN_2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
const U64_MAX = '18446744073709551615';

interface Parsed {
  readonly program?: string;
  readonly parsed?: unknown;
  readonly data?: string;
}

interface ParsedTransaction {
  readonly transaction: { readonly message: { readonly instructions: readonly Parsed[] } };
  readonly meta: { readonly innerInstructions: readonly { readonly instructions: readonly Parsed[] }[] };
}

describe('jsonParsed describes', () => {
  test('what a transaction did with lamports, tokens and memos, also in inner instructions', async (t) => {
    const { localnet, wallet, send, call } = await startCluster(t);
    const [payer, other] = [await wallet(), await wallet()];
    const mint = await localnet.bank.createMint(6, false);
    const account = await localnet.bank.mintTo(mint, payer.address, 1_000_000n);
    const [ata] = await findAssociatedTokenPda({ owner: other.address, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS });
    const signature = await send(payer, [
      memo('привет'),
      getTransferSolInstruction({ source: payer, destination: other.address, amount: 7n }),
      getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner: other.address, mint }),
      getTransferCheckedInstruction({
        source: account,
        mint,
        destination: ata,
        authority: payer,
        amount: 250_000n,
        decimals: 6,
      }),
      getBurnCheckedInstruction({ account, mint, authority: payer, amount: 10n, decimals: 6 }),
    ]);
    await localnet.warp();
    const { transaction, meta } = await readParsed(call, signature);
    assert.deepEqual(
      transaction.message.instructions.map(({ program, parsed }) => [program, parsed]),
      [
        ['spl-memo', 'привет'],
        ['system', { type: 'transfer', info: { source: payer.address, destination: other.address, lamports: 7 } }],
        [
          'spl-associated-token-account',
          {
            type: 'createIdempotent',
            info: {
              source: payer.address,
              account: ata,
              wallet: other.address,
              mint,
              systemProgram: '11111111111111111111111111111111',
              tokenProgram: TOKEN_PROGRAM_ADDRESS,
            },
          },
        ],
        [
          'spl-token',
          {
            type: 'transferChecked',
            info: {
              source: account,
              mint,
              destination: ata,
              authority: payer.address,
              tokenAmount: { amount: '250000', decimals: 6, uiAmount: 0.25, uiAmountString: '0.25' },
            },
          },
        ],
        [
          'spl-token',
          {
            type: 'burnChecked',
            info: {
              account,
              mint,
              authority: payer.address,
              tokenAmount: { amount: '10', decimals: 6, uiAmount: 0.00001, uiAmountString: '0.00001' },
            },
          },
        ],
      ],
    );
    assert.deepEqual(
      meta.innerInstructions[0]?.instructions.map(({ parsed }) => (parsed as { type?: string } | undefined)?.type),
      ['getAccountDataSize', 'createAccount', 'initializeImmutableOwner', 'initializeAccount3'],
    );
  });

  test('who created a mint and transferred its authority', async (t) => {
    const { localnet, rpc, wallet, send, call } = await startCluster(t);
    const [payer, mint] = [await wallet(), await generateKeyPairSigner()];
    const rent = await rpc.getMinimumBalanceForRentExemption(82n).send();
    const signature = await send(payer, [
      getCreateAccountInstruction({ payer, newAccount: mint, lamports: rent, space: 82, programAddress: TOKEN_2022 }),
      getInitializeMint2Instruction(
        { mint: mint.address, decimals: 2, mintAuthority: payer.address },
        { programAddress: TOKEN_2022 },
      ),
      getSetAuthorityInstruction(
        { owned: mint.address, owner: payer, authorityType: AuthorityType.MintTokens, newAuthority: null },
        { programAddress: TOKEN_2022 },
      ),
    ]);
    await localnet.warp();
    const { transaction } = await readParsed(call, signature);
    assert.deepEqual(
      transaction.message.instructions.map(({ program, parsed }) => [program, parsed]),
      [
        [
          'system',
          {
            type: 'createAccount',
            info: {
              source: payer.address,
              newAccount: mint.address,
              lamports: Number(rent),
              space: 82,
              owner: TOKEN_2022,
            },
          },
        ],
        [
          'spl-token',
          { type: 'initializeMint2', info: { mint: mint.address, decimals: 2, mintAuthority: payer.address } },
        ],
        [
          'spl-token',
          {
            type: 'setAuthority',
            info: {
              mint: mint.address,
              authority: payer.address,
              authorityType: 'mintTokens',
              newAuthority: null,
            },
          },
        ],
      ],
    );
  });

  test('a lookup table with its addresses, and the clock', async (t) => {
    const cluster = await startCluster(t);
    const { localnet, wallet, call } = cluster;
    const [authority, listed] = [await wallet(), await wallet(0n)];
    const [table = ''] = Object.keys(await createTable(cluster, authority, [listed.address]));
    await localnet.warp({ slots: 32n });
    const shown = await call('getAccountInfo', [table, { encoding: 'jsonParsed' }]);
    assert.partialDeepStrictEqual(shown.result, {
      value: {
        data: {
          program: 'address-lookup-table',
          parsed: {
            type: 'lookupTable',
            info: {
              addresses: [listed.address],
              authority: authority.address,
              deactivationSlot: U64_MAX,
              lastExtendedSlotStartIndex: 0,
            },
          },
        },
      },
    });
    const [entry] = (await call('getSignaturesForAddress', [table])).result as { signature: string }[]; // its shape
    const { transaction } = await readParsed(call, entry?.signature ?? '');
    assert.partialDeepStrictEqual(transaction.message.instructions, [
      { program: 'address-lookup-table', parsed: { type: 'createLookupTable', info: { lookupTableAccount: table } } },
      {
        parsed: {
          type: 'extendLookupTable',
          info: { newAddresses: [listed.address], payerAccount: authority.address },
        },
      },
    ]);
    const clock = await call('getAccountInfo', [
      'SysvarC1ock11111111111111111111111111111111',
      { encoding: 'jsonParsed' },
    ]);
    assert.partialDeepStrictEqual(clock.result, { value: { data: { program: 'sysvar', parsed: { type: 'clock' } } } });
  });

  test('the memos of an address’s transactions, with their lengths', async (t) => {
    const { localnet, wallet, send, call } = await startCluster(t);
    const payer = await wallet();
    await send(payer, [memo('first'), memo('zweite ü')]);
    await send(payer, [getTransferSolInstruction({ source: payer, destination: payer.address, amount: 1n })]);
    await localnet.warp();
    const { result } = await call('getSignaturesForAddress', [payer.address, { commitment: 'confirmed', limit: 2 }]);
    assert.deepEqual(
      (result as { memo: string | null }[]).map((entry) => entry.memo), // its shape
      [null, '[5] first; [9] zweite ü'],
    );
  });
});

test('jsonParsed names a multisig and its signers', () => {
  const [mint, account, multisig, one, two] = ['mint', 'account', 'multisig', 'one', 'two'] as Address[]; // names will do
  assert.ok(mint && account && multisig && one && two);
  const { data } = getMintToInstruction({
    mint: MEMO_PROGRAM,
    token: MEMO_PROGRAM,
    mintAuthority: MEMO_PROGRAM,
    amount: 3n,
  });
  const parsed = parseInstruction(TOKEN_PROGRAM_ADDRESS, [mint, account, multisig, one, two], new Uint8Array(data));
  assert.deepEqual(parsed?.parsed, {
    type: 'mintTo',
    info: { mint, account, amount: '3', multisigMintAuthority: multisig, signers: [one, two] },
  });
});

test('jsonParsed names every authority of a Token-2022 mint, and shows one that does not exist unparsed', () => {
  const [mint, authority] = ['mint', 'authority'] as Address[]; // names will do
  assert.ok(mint && authority);
  const parse = (authorityType: number) =>
    parseInstruction(TOKEN_2022, [mint, authority], Uint8Array.of(6, authorityType, 0))?.parsed;
  for (const [type, authorityType] of [
    [AuthorityType2022.TransferFeeConfig, 'transferFeeConfig'],
    [AuthorityType2022.PermissionedBurn, 'permissionedBurn'],
  ] as const) {
    const expected: unknown = { type: 'setAuthority', info: { mint, authority, authorityType, newAuthority: null } };
    assert.deepEqual(parse(type), expected);
  }
  assert.equal(parse(18), undefined);
});

test('jsonParsed shows a damaged or unknown instruction unparsed', () => {
  const accounts = [MEMO_PROGRAM, MEMO_PROGRAM];
  for (const content of [[], [2, 0, 0, 0, 1], [99, 0, 0, 0], [2]]) {
    assert.equal(
      parseInstruction(address('11111111111111111111111111111111'), accounts, Uint8Array.from(content)),
      null,
    );
  }
  const transfer = getTransferSolInstruction({
    source: { address: MEMO_PROGRAM } as Parameters<typeof getTransferSolInstruction>[0]['source'],
    destination: MEMO_PROGRAM,
    amount: lamports(1n),
  });
  const bytes = new Uint8Array(transfer.data);
  assert.equal(parseInstruction(transfer.programAddress, [MEMO_PROGRAM], bytes), null, 'an account lacks');
  assert.equal(parseInstruction(MEMO_PROGRAM, [], Uint8Array.of(0xff)), null, 'no text');
});

function memo(text: string): Instruction {
  return { programAddress: MEMO_PROGRAM, data: new TextEncoder().encode(text) };
}

async function readParsed(
  call: (method: string, params: readonly unknown[]) => Promise<{ readonly result?: unknown }>,
  signature: string,
): Promise<ParsedTransaction> {
  const config = { commitment: 'confirmed', encoding: 'jsonParsed', maxSupportedTransactionVersion: 1 };
  return (await call('getTransaction', [signature, config])).result as ParsedTransaction; // asserted on
}
