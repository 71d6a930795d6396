import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { createSolanaRpcFromTransport, generateKeyPairSigner, lamports } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { land } from '../src/chain.ts';
import { openCluster } from '../src/cluster.ts';

it('land sends the same instructions twice within one blockhash as two transactions', async () => {
  const localnet = await openCluster({});
  try {
    const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: localnet.url }));
    const payer = await generateKeyPairSigner();
    const { address: recipient } = await generateKeyPairSigner();
    await localnet.bank.airdrop(payer.address, 1_000_000_000n);
    const transfer = getTransferSolInstruction({ source: payer, destination: recipient, amount: lamports(1_000_000n) });
    await Promise.all([land({ rpc }, payer, [transfer]), land({ rpc }, payer, [transfer])]);
    const { value: received } = await rpc.getBalance(recipient, { commitment: 'confirmed' }).send();
    assert.equal(received, 2_000_000n);
  } finally {
    await localnet.stop();
  }
});
