import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, address, generateKeyPairSigner, type Instruction } from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  type ExtensionArgs,
  findAssociatedTokenPda,
  getAmountToUiAmountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeInterestBearingMintInstruction,
  getInitializeMint2Instruction,
  getInitializeScaledUiAmountMintInstruction,
  getMintSize,
  getMintToInstruction,
} from '@solana-program/token-2022';
import { startCluster } from '../cluster.ts';

const TOKEN_2022 = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
const AMOUNT = 123_456n;
const YEAR_SECONDS = 31_556_736n;
/** A rate in basis points. */
const RATE = 500;
const MULTIPLIER = 2.5;

const KINDS: Readonly<
  Record<string, { readonly extension: ExtensionArgs; initialize(mint: Address, authority: Address): Instruction }>
> = {
  'an interest rate': {
    extension: {
      ...{ __kind: 'InterestBearingConfig', rateAuthority: TOKEN_2022, initializationTimestamp: 0n },
      ...{ preUpdateAverageRate: RATE, lastUpdateTimestamp: 0n, currentRate: RATE },
    },
    initialize: (mint, rateAuthority) =>
      getInitializeInterestBearingMintInstruction({ mint, rateAuthority, rate: RATE }),
  },
  'a multiplier': {
    extension: {
      ...{ __kind: 'ScaledUiAmountConfig', authority: TOKEN_2022, multiplier: MULTIPLIER },
      ...{ newMultiplierEffectiveTimestamp: 0n, newMultiplier: MULTIPLIER },
    },
    initialize: (mint, authority) =>
      getInitializeScaledUiAmountMintInstruction({ mint, authority, multiplier: MULTIPLIER }),
  },
};

for (const [kind, { extension, initialize }] of Object.entries(KINDS)) {
  test(`every method shows amounts of a mint with ${kind} as the token program does`, async (t) => {
    const { localnet, rpc, wallet, send, sign, call } = await startCluster(t);
    const [payer, mint] = [await wallet(), await generateKeyPairSigner()];
    const space = getMintSize([extension]);
    const owner = payer.address;
    const [ata] = await findAssociatedTokenPda({ owner, mint: mint.address, tokenProgram: TOKEN_2022 });
    await send(payer, [
      getCreateAccountInstruction({
        payer,
        newAccount: mint,
        lamports: await rpc.getMinimumBalanceForRentExemption(BigInt(space)).send(),
        space,
        programAddress: TOKEN_2022,
      }),
      initialize(mint.address, owner),
      getInitializeMint2Instruction({ mint: mint.address, decimals: 2, mintAuthority: owner }),
      getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner, mint: mint.address }),
      getMintToInstruction({ mint: mint.address, token: ata, mintAuthority: payer, amount: AMOUNT }),
    ]);
    await localnet.warp({ slots: 40n, seconds: YEAR_SECONDS });
    await localnet.warp({ slots: 40n });

    const { wire } = await sign(payer, [getAmountToUiAmountInstruction({ mint: mint.address, amount: AMOUNT })]);
    const { value: simulated } = await rpc.simulateTransaction(wire, { encoding: 'base64' }).send();
    const uiAmountString = Buffer.from(simulated.returnData?.data[0] ?? '', 'base64').toString();
    assert.notEqual(uiAmountString, '1234.56');
    const expected = { amount: String(AMOUNT), decimals: 2, uiAmount: Number(uiAmountString), uiAmountString };

    const { value: account } = await rpc.getAccountInfo(ata, { encoding: 'jsonParsed' }).send();
    assert.partialDeepStrictEqual(account?.data, { parsed: { info: { tokenAmount: expected } } });
    for (const [method, of] of [
      ['getTokenAccountBalance', ata],
      ['getTokenSupply', mint.address],
      ['getTokenLargestAccounts', mint.address],
    ] as const) {
      const { value } = (await call(method, [of])).result as { value: unknown }; // the documented shape
      assert.deepEqual(value, Array.isArray(value) ? [{ address: ata, ...expected }] : expected, method);
    }
  });
}
