import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { AccountState, getTokenEncoder, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import type { Chain, ChainAccount } from '../../src/solana/chain.ts';
import { type RecipientFacts, readRecipients } from '../../src/solana/recipients.ts';

const LOADER = address('BPFLoaderUpgradeab1e11111111111111111111111');
const MINT = address('So11111111111111111111111111111111111111112');

describe('readRecipients', () => {
  it('distinguishes a program from a wallet', async () => {
    const program = { programAddress: LOADER, executable: true, data: new Uint8Array(36) };
    assert.deepEqual((await read(program, null)).owner, { kind: 'program' });
    assert.deepEqual((await read({ ...program, executable: false }, null)).owner, { kind: 'wallet' });
  });

  it('accepts a wallet that its owner assigned to a token program, with data of any length', async () => {
    for (const programAddress of [TOKEN_PROGRAM_ADDRESS, TOKEN_2022_PROGRAM_ADDRESS]) {
      for (const length of [0, 1, 81, 100, 164]) {
        const found = await read({ programAddress, executable: false, data: new Uint8Array(length) }, null);
        assert.deepEqual(found.owner, { kind: 'wallet' }, `${length} bytes`);
      }
    }
  });

  it('detects a token account of Token-2022 that requires memos', async () => {
    for (const requireIncomingTransferMemos of [true, false]) {
      const state = requireIncomingTransferMemos ? 'demands memos' : 'usable';
      const found = await read(null, (owner) => ({
        programAddress: TOKEN_2022_PROGRAM_ADDRESS,
        executable: false,
        data: tokenAccount(owner, [{ __kind: 'MemoTransfer', requireIncomingTransferMemos }]),
      }));
      assert.deepEqual(found.tokenAccount, { state });
    }
  });

  it('accepts a token account of SPL Token', async () => {
    const found = await read(null, (owner) => ({
      programAddress: TOKEN_PROGRAM_ADDRESS,
      executable: false,
      data: tokenAccount(owner, null).slice(0, 165),
    }));
    assert.deepEqual(found.tokenAccount, { state: 'usable' });
  });
});

type Account = Omit<ChainAccount, 'address' | 'lamports' | 'space'>;

async function read(
  owner: Account | null,
  tokenAccountOf: ((owner: Address) => Account) | null,
): Promise<RecipientFacts> {
  const [wallet, token] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
  const account = tokenAccountOf?.(wallet.address) ?? null;
  const chain: Pick<Chain, 'accounts'> = {
    accounts: async (_, { maxBytes } = {}) => {
      const held = (address: Address, { data, ...rest }: Account) => {
        return { ...rest, address, lamports: 1n, data: data.subarray(0, maxBytes), space: BigInt(data.length) };
      };
      return [owner && held(wallet.address, owner), account && held(token.address, account)];
    },
  };
  const programAddress = account?.programAddress ?? TOKEN_PROGRAM_ADDRESS;
  const [facts] = await readRecipients(chain, { programAddress }, [
    { owner: wallet.address, tokenAccount: token.address },
  ]);
  assert.ok(facts);
  return facts;
}

function tokenAccount(
  owner: Address,
  extensions: Parameters<ReturnType<typeof getTokenEncoder>['encode']>[0]['extensions'],
): Uint8Array {
  const encoded = getTokenEncoder().encode({
    mint: MINT,
    owner,
    amount: 0n,
    delegate: null,
    state: AccountState.Initialized,
    isNative: null,
    delegatedAmount: 0n,
    closeAuthority: null,
    extensions,
  });
  return Uint8Array.from(encoded);
}
