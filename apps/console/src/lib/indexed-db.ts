/** Opens a database of this site, and creates its stores if it is new. @throws the error of the request. */
export async function openDatabase(name: string, stores: readonly string[]): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    for (const store of stores) request.result.createObjectStore(store);
  };
  return resultOf(request);
}

/** Waits for the result of a request to IndexedDB. @throws the error of the request. */
export function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
