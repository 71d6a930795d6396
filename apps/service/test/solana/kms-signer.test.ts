import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { burnPipeline, execute, init } from '@flywheel/testing/client';
import { createProject, requireOk, signWith } from '@flywheel/testing/project';
import { openWorld } from '@flywheel/testing/world';
import {
  type Address,
  createSignableMessage,
  getAddressDecoder,
  getPublicKeyFromAddress,
  verifySignature,
} from '@solana/kit';
import { loadSigner, readSignerAddress } from '../../src/solana/signer.ts';

describe('a signer in Vault', () => {
  let vault: Vault;
  let directory: string;
  let tokenFile: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-kms-'));
    tokenFile = join(directory, 'token');
    await writeFile(tokenFile, `${TOKEN}\n`);
    vault = await startVault();
  });
  after(async () => {
    await vault.close();
    await rm(directory, { recursive: true });
  });
  const uriOf = (key: string, address: string, more = '') =>
    `kms://vault/${key}?address=${address}&url=${vault.url}&token-file=${tokenFile}${more}`;

  it('pays and votes for a whole batch without exposing its keys', async () => {
    const [operator, company] = [vault.createKey('operator'), vault.createKey('company')];
    const world = await openWorld();
    try {
      await world.localnet.bank.airdrop(operator, 100_000_000_000n);
      const [operatorUri, companyUri] = [uriOf('operator', operator), uriOf('company', company)];
      await world.restart({ OPERATOR_SIGNER: operatorUri, COMPANY_SIGNER: companyUri });
      const project = await createProject(world);
      const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, [burnPipeline(1)]));
      const signedTx = await signWith(project.wallet, proposalApproveTx);
      const { body } = await execute(world.url, project.apiKey, batch.id, signedTx);
      assert.equal(body.status, 'EXECUTED', JSON.stringify(body));
      assert.ok((vault.signatures.get('operator') ?? 0) > 0);
      assert.equal(vault.signatures.get('company'), 1);
    } finally {
      await world.stop();
    }
  });

  it('is rejected if its key does not match its address', async () => {
    vault.createKey('rotated');
    const signer = await loadSigner(uriOf('rotated', vault.createKey('other')));
    const transaction = { messageBytes: new Uint8Array([1, 2, 3]), signatures: {} };
    await assert.rejects(
      signer.signTransactions([transaction as never]),
      /kms:\/\/vault\/rotated returned a signature that is not valid for/,
    );
    const message = createSignableMessage('text');
    await assert.rejects(signer.signMessages([message]), /rotated returned a signature that is not valid for/);
  });

  it('is given up after ten seconds without an answer, also at start, and signs again later', async () => {
    const address = vault.createKey('silent');
    const signer = await loadSigner(uriOf('silent', address));
    const message = createSignableMessage('text');
    vault.silent.add('silent');
    const waiting = [signer.signMessages([message]), loadSigner(uriOf('silent', address))];
    await Promise.all(
      waiting.map((each) => assert.rejects(each, /kms:\/\/vault\/silent has not answered within 10 s/)),
    );
    vault.silent.delete('silent');
    const [signatures] = await signer.signMessages([message]);
    assert.ok(signatures?.[address]);
  });

  it('signs texts, such as the one that names its successor', async () => {
    const address = vault.createKey('succeeded');
    const signer = await loadSigner(uriOf('succeeded', address));
    const [signatures] = await signer.signMessages([createSignableMessage('text')]);
    const signature = signatures?.[address];
    assert.ok(signature);
    const publicKey = await getPublicKeyFromAddress(address);
    assert.ok(await verifySignature(publicKey, signature, new TextEncoder().encode('text')));
  });

  it('is rejected at start if the key is missing, or the token or the setting is invalid', async () => {
    const address = vault.createKey('present');
    await assert.rejects(loadSigner(uriOf('absent', address)), /has no such key/);
    const wrongToken = join(directory, 'wrong');
    await writeFile(wrongToken, 'hvs.wrong');
    const uri = `kms://vault/present?address=${address}&url=${vault.url}&token-file=${wrongToken}`;
    await assert.rejects(loadSigner(uri), (error: Error) => !error.message.includes('hvs.wrong'));
    for (const [setting, problem] of [
      ['kms://vault/present', /address=… must be/],
      [`kms://vault/?address=${address}`, /names no key/],
      [`kms://vault/present?address=${address}`, /url=… is missing/],
      [`kms://azure/present?address=${address}`, /names azure; it may name vault or aws/],
      [uriOf('present', address, '&tokn=1'), /tokn=… is unknown/],
      [`kms://aws/alias?address=${address}`, /npm install @solana\/keychain-aws-kms@0\.2\.1 first/],
      [
        `kms://vault/present?address=${address}&url=${vault.url}&token-file=/nowhere`,
        /token file \/nowhere cannot be read/,
      ],
    ] as const) {
      await assert.rejects(loadSigner(setting), problem, setting);
    }
  });

  it('gives its address, without a request, to a process that never signs', async () => {
    const address = vault.createKey('quiet');
    assert.equal(await readSignerAddress(`kms://vault/quiet?address=${address}`), address);
  });
});

const TOKEN = 'hvs.test';

interface Vault {
  readonly url: string;
  /** Counts signatures by key. */
  readonly signatures: ReadonlyMap<string, number>;
  /** Names of the keys for which no request is answered. */
  readonly silent: Set<string>;
  createKey(name: string): Address;
  close(): Promise<void>;
}

/** Starts a server with the two routes of the transit engine, as HashiCorp documents them, with real Ed25519 keys. */
async function startVault(): Promise<Vault> {
  const keys = new Map<string, string>();
  const signatures = new Map<string, number>();
  const silent = new Set<string>();
  const server: Server = createServer(async (request, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const [, verb, name = ''] = /^\/v1\/transit\/(keys|sign)\/([\w-]+)$/.exec(request.url ?? '') ?? [];
    const pem = keys.get(name);
    if (request.headers['x-vault-token'] !== TOKEN) return answer(403, { errors: ['permission denied'] });
    if (pem === undefined) return answer(404, { errors: [] });
    if (silent.has(name)) return;
    if (verb === 'keys') return answer(200, { data: { name, type: 'ed25519', supports_signing: true } });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { input } = JSON.parse(Buffer.concat(chunks).toString());
    signatures.set(name, (signatures.get(name) ?? 0) + 1);
    const signature = sign(null, Buffer.from(input, 'base64'), createPrivateKey(pem)).toString('base64');
    return answer(200, { data: { signature: `vault:v1:${signature}` } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listening = server.address();
  const port = typeof listening === 'object' ? listening?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    signatures,
    silent,
    createKey(name) {
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      keys.set(name, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
      return getAddressDecoder().decode(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
