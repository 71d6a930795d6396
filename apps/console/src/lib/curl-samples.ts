export interface InitSampleOptions {
  /** A variable of the shell by default. */
  readonly apiKey?: string;
  /** Proof type of the only pipeline. */
  readonly type?: string;
}

/** Builds a curl command that creates a batch with one burn. */
export function initSample({ apiKey = '$KEY', type = 'WATCH_AD' }: InitSampleOptions = {}): string {
  return `curl ${location.origin}/v1/flywheel/batch/init \\
  -H "x-service-api-key: ${apiKey}" \\
  -H "x-idempotency-key: $(uuidgen)" \\
  --json '{"pipelines":[{"type":"${type}","payload":"{\\"event\\":\\"1\\"}","actions":[{"action":"BURN","amount":1}]}]}'`;
}

/** Builds a curl command that reads the current batch. */
export function currentSample(): string {
  return `curl ${location.origin}/v1/flywheel/batch/current -H "x-service-api-key: $KEY"`;
}
