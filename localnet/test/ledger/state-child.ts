import { generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { startLocalnet } from '../../src/index.ts';
import { SOL, useCluster } from '../cluster.ts';

// A process to be killed: it transfers without end and prints every signature once a client saw it confirmed.
const [stateDirectory = null] = process.argv.slice(2);
const localnet = await startLocalnet({ stateDirectory, squadsProgram: 'emulation', slotMs: 20 });
const cluster = useCluster(localnet);
const payer = await cluster.wallet(1000n * SOL);
const recipient = await generateKeyPairSigner();
process.stdout.write(`recipient ${recipient.address}\n`);
const transfer = getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL });
for (;;) {
  const signature = await cluster.send(payer, [transfer]);
  for (;;) {
    const { value } = await cluster.rpc.getSignatureStatuses([signature]).send();
    if (value[0]?.confirmationStatus !== 'processed') break;
  }
  process.stdout.write(`confirmed ${signature}\n`);
}
