import { firstPipeline, type SampleRules } from './first-pipeline.ts';

/** Says what `initSample` creates. */
export function nameSample({ scopes = ['burn'] }: SampleRules = {}): string {
  return `Creates a batch with one ${scopes.includes('burn') ? 'burn' : 'memo'}`;
}

/** Builds a curl command that creates a batch of the first pipeline. @param apiKey a variable of the shell by default. */
export function initSample(rules: SampleRules = {}, apiKey = '$KEY'): string {
  return `curl ${location.origin}/v1/flywheel/batch/init \\
  -H "x-service-api-key: ${apiKey}" \\
  -H "x-idempotency-key: $(uuidgen)" \\
  --json '${JSON.stringify({ pipelines: [firstPipeline(rules)] })}'`;
}

/** Builds a curl command that reads the current batch. */
export function currentSample(): string {
  return `curl ${location.origin}/v1/flywheel/batch/current -H "x-service-api-key: $KEY"`;
}

export interface DepositSampleOptions {
  readonly vault: string;
  readonly mint: string;
  readonly rpcUrl: string;
  /** True if the cluster gives tokens and SOL away. */
  readonly hasBank: boolean;
}

/** Builds the commands that deposit tokens and SOL to a vault: Solana’s own, or the local cluster’s. */
export function depositSample({ vault, mint, rpcUrl, hasBank }: DepositSampleOptions): string {
  if (hasBank) {
    return `npx flywheel localnet fund ${vault} --rpc-url ${rpcUrl} \\
  --sol 1 --mint ${mint} --tokens 1000`;
  }
  return `spl-token -u ${rpcUrl} transfer ${mint} 1000 ${vault} \\
  --fund-recipient --allow-unfunded-recipient
solana -u ${rpcUrl} transfer ${vault} 0.1 --allow-unfunded-recipient`;
}

/** Builds the command that adds a webhook to a project. */
export function webhookSample(projectId: string): string {
  return `npx flywheel webhooks create --url ${location.origin} --project ${projectId} \\
  --wallet wallet.json --receiver https://your-server.example/flywheel`;
}

/** Builds the command that checks the proof of the sample’s pipeline. */
export function proofSample(vault: string, rules: SampleRules = {}): string {
  const { type, payload } = firstPipeline(rules);
  return `npx flywheel proof verify --url ${location.origin} --vault ${vault} \\
  --type ${type} --payload '${payload}'`;
}

interface EmbedPlace {
  /** URL of the service, without a slash at its end. */
  readonly publicUrl: string;
  readonly vault: string;
}

/** Builds the Markdown of a vault’s badge, which links to the vault’s page. */
export function badgeSample({ publicUrl, vault }: EmbedPlace): string {
  return `[![Burned so far](${publicUrl}/embed/${vault}/badge.svg)](${publicUrl}/vault/${vault})`;
}

/** Builds the HTML of a vault’s widget. */
export function widgetSample({ publicUrl, vault }: EmbedPlace): string {
  return `<iframe src="${publicUrl}/embed/${vault}" title="Burned so far" width="320" height="200"
  style="border:0" loading="lazy" referrerpolicy="no-referrer"
  sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>`;
}
