// Runs wherever the package runs: it may use only what every JavaScript runtime has.
import {
  airdrop,
  burn,
  createFlywheelClient,
  isFlywheelError,
  pipeline,
  pipelineSize,
  proof,
  signApproval,
} from '@flywheel/sdk';

const WALLET = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';

/** Collects the result of each feature, for the test to compare; a runtime that lacks something throws. */
export async function smoke() {
  const made = pipeline('WATCH_AD', { adId: '123' }, burn('0.25'), airdrop(WALLET, 1.5));
  const requests = [];
  const fetch = async (url, { method, headers, body }) => {
    requests.push({ url, method, key: headers['x-idempotency-key'], body });
    const status = requests.length === 1 ? 429 : 404;
    const error = status === 429 ? 'ERR_RATE_LIMITED' : 'ERR_KEY_NOT_FOUND';
    const wait = status === 429 ? { 'retry-after': '0' } : {};
    return new Response(JSON.stringify({ error, message: 'As told.' }), { status, headers: wait });
  };
  const client = createFlywheelClient({ url: 'https://flywheel.example', apiKey: 'fw_key', fetch });
  const refused = await client.initBatch({ pipelines: [made] }).catch((error) => error);
  const signer = { address: WALLET, signTransactions: async () => [] };
  const unsigned = await signApproval('AAAA', signer, { multisig: WALLET, batchIndex: '1', company: WALLET }).catch(
    (error) => error,
  );
  return {
    hash: await proof.hash({ type: 'WATCH_AD', payload: '{"adId":"123"}' }),
    bytes: pipelineSize(made).bytes,
    refused: isFlywheelError(refused, 'ERR_KEY_NOT_FOUND') ? refused.status : String(refused),
    unsigned: isFlywheelError(unsigned, 'ERR_SIGNING_REFUSED') ? unsigned.message : String(unsigned),
    attempts: requests.length,
    sameKeyTwice: requests[0].key === requests[1].key && /^[0-9a-f-]{36}$/.test(requests[0].key),
  };
}
