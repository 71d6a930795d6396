/** Milliseconds by which the service’s clock is ahead of this computer’s, as of the last answer. */
let aheadMs = 0;

/** Fetches like `fetch`, and reads the service’s clock from the answer. */
export async function fetchWithClock(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  // A whole second. A proxy’s error page may have none.
  const serviceMs = Date.parse(response.headers.get('date') ?? '');
  if (!Number.isNaN(serviceMs)) aheadMs = serviceMs - Date.now();
  return response;
}

/** The present time by the clock of the service, in milliseconds since the epoch: this computer’s may be wrong by hours. */
export function serviceNow(): number {
  return Date.now() + aheadMs;
}
