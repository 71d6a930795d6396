import { generateKeyPair } from '@solana/kit';

const DATABASE = 'flywheel-test-wallet';
const STORE = 'keys';
const KEY = 'first';

let opening: Promise<CryptoKeyPair> | null = null;

/** The test wallet’s key pair: made once, kept by the browser in a form that no script can read out. */
export function openLocalKey(): Promise<CryptoKeyPair> {
  opening ??= findOrMake();
  return opening;
}

async function findOrMake(): Promise<CryptoKeyPair> {
  const database = await openDatabase();
  const found: unknown = await settle(database.transaction(STORE).objectStore(STORE).get(KEY));
  if (isKeyPair(found)) return found;
  const made = await generateKeyPair();
  // Another tab may have been quicker: the first one stays.
  await settle(database.transaction(STORE, 'readwrite').objectStore(STORE).add(made, KEY)).catch(() => null);
  const kept: unknown = await settle(database.transaction(STORE).objectStore(STORE).get(KEY));
  if (!isKeyPair(kept)) throw new Error('The browser did not keep the test wallet’s key: is this a private window?');
  return kept;
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return settle(request);
}

function settle<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function isKeyPair(value: unknown): value is CryptoKeyPair {
  return typeof value === 'object' && value !== null && 'privateKey' in value && 'publicKey' in value;
}
