import type { Config } from '@flywheel/service';
import { formatSol } from '../../format.ts';
import { type Check, failure, ok, warning } from './check.ts';
import type { Node } from './node.ts';

/** The rules of the service about strangers on a cluster that is not local. */
type ExposureRules = Pick<typeof import('@flywheel/service'), 'isLocalCluster' | 'UNBOUNDED_EXPOSURE'>;

/** Checks the settings whose right value depends on the cluster: on a local one people try things out. */
export function checkSettings(
  config: Config,
  { genesisHash }: Pick<Node, 'genesisHash'>,
  rules: ExposureRules,
): Check[] {
  const isLocal = rules.isLocalCluster(config.isClusterLocal, genesisHash);
  return [checkRegistration(config, isLocal, rules), checkAddress(config, isLocal), checkMetrics(config, isLocal)];
}

/** Checks whose projects are served, and what strangers may lock. */
function checkRegistration(
  { registration, isUnadmittedCapChosen, caps, companyOperators }: Config,
  isLocal: boolean,
  { UNBOUNDED_EXPOSURE }: ExposureRules,
): Check {
  const topic = 'registration';
  if (registration !== 'open') {
    const text = `REGISTRATION is ${registration}: projects are served that the company has admitted.`;
    if (companyOperators.size > 0) return ok(topic, text);
    return warning(topic, `${text} COMPANY_OPERATORS is empty, so none can be.`, 'Set COMPANY_OPERATORS.');
  }
  if (!isUnadmittedCapChosen && !isLocal) {
    return failure(topic, UNBOUNDED_EXPOSURE, 'serve and work do not start with these settings.');
  }
  const sol = formatSol(caps.lockedUnadmittedLamports);
  return ok(topic, `REGISTRATION is open: projects that the company has not admitted may lock ${sol} together.`);
}

/** Checks the address at which people reach the service. */
function checkAddress({ publicUrl, trustedProxies }: Config, isLocal: boolean): Check {
  const topic = 'address';
  if (publicUrl === null) {
    const text = 'PUBLIC_URL is not set: sign-in works on loopback only.';
    return isLocal
      ? ok(topic, text)
      : warning(topic, text, 'Set PUBLIC_URL to the URL at which people reach the service.');
  }
  if (isLocal) return ok(topic, `People reach the service at ${publicUrl}.`);
  if (!publicUrl.startsWith('https:')) {
    const text = `PUBLIC_URL is ${publicUrl}: sessions and API keys cross the network unencrypted.`;
    return warning(topic, text, 'Put a proxy with TLS in front of serve, and set PUBLIC_URL to its https address.');
  }
  if (trustedProxies.length === 0) {
    const text = `People reach the service at ${publicUrl}, but TRUST_PROXY is not set: all of them count as one client.`;
    return warning(topic, text, 'Set TRUST_PROXY to the addresses of the proxy that ends TLS.');
  }
  return ok(topic, `People reach the service at ${publicUrl}, through ${trustedProxies.join(', ')}.`);
}

function checkMetrics({ metricsPort }: Config, isLocal: boolean): Check {
  if (metricsPort !== null) return ok('metrics', `Metrics are served on port ${metricsPort}.`);
  const text = 'METRICS_PORT is not set: no alert is raised when work stops.';
  return isLocal
    ? ok('metrics', 'METRICS_PORT is not set.')
    : warning('metrics', text, 'Set it on every process, and load deploy/prometheus/alerts.yaml.');
}
