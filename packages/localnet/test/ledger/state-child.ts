import { address, generateKeyPairSigner } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { startLocalnet } from '../../src/index.ts';
import { SOL, useCluster } from '../cluster.ts';

const SENDERS = 8;

// A process that is killed: several senders transfer without end. It prints every signature twice: when a client saw it
// processed, and when a client saw it confirmed.
const [stateDirectory = null, recipientText = ''] = process.argv.slice(2);
const recipient = recipientText === '' ? (await generateKeyPairSigner()).address : address(recipientText);
const localnet = await startLocalnet({ stateDirectory, squadsProgram: 'emulation', slotMs: 20 });
const cluster = useCluster(localnet);
process.stdout.write(`recipient ${recipient}\n`);
await Promise.all(Array.from({ length: SENDERS }, transferWithoutEnd));

async function transferWithoutEnd(): Promise<never> {
  const payer = await cluster.wallet(1000n * SOL);
  const transfer = getTransferSolInstruction({ source: payer, destination: recipient, amount: SOL });
  for (;;) {
    const signature = await cluster.send(payer, [transfer]);
    for (const known of ['processed', 'confirmed']) {
      for (let status: string | null = null; status === null || (known === 'confirmed' && status === 'processed'); ) {
        const { value } = await cluster.rpc.getSignatureStatuses([signature]).send();
        status = value[0]?.confirmationStatus ?? null;
      }
      process.stdout.write(`${known} ${signature}\n`);
    }
  }
}
