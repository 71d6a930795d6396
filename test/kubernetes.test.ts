import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const FILE = new URL('../deploy/kubernetes/flywheel.yaml', import.meta.url);
const text = await readFile(FILE, 'utf8');

type Labels = Readonly<Record<string, string>>;

interface Probe {
  readonly httpGet?: { readonly port: string | number };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly envFrom?: readonly { readonly secretRef?: { readonly name: string } }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly resources?: {
    readonly requests?: { readonly cpu?: string };
    readonly limits?: { readonly memory?: string };
  };
  readonly securityContext?: {
    readonly readOnlyRootFilesystem?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly privileged?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    readonly hostPath?: { readonly path: string };
    readonly secret?: { readonly secretName: string };
  }[];
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly serviceAccount?: string;
  readonly serviceAccountName?: string;
  readonly hostIPC?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean;
    readonly runAsUser?: number;
    readonly runAsGroup?: number;
    readonly seccompProfile?: { readonly type: string };
    readonly sysctls?: readonly object[];
  };
  readonly affinity?: {
    readonly podAntiAffinity?: {
      readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
        readonly podAffinityTerm: {
          readonly topologyKey: string;
          readonly labelSelector: { readonly matchLabels: Labels };
        };
      }[];
    };
  };
}

/** A process ends within this time after its signal to stop (docs/operating.md, Processes). */
const STOP_SECONDS = 25;

/** What the example uses of Kubernetes' objects. */
interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Labels;
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: Labels & { readonly matchLabels?: Labels };
    readonly template?: { readonly metadata?: { readonly labels?: Labels }; readonly spec: PodSpec };
    readonly ttlSecondsAfterFinished?: number;
    readonly ports?: readonly { readonly name?: string; readonly targetPort?: string | number }[];
    readonly podSelector?: { readonly matchLabels?: Labels };
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly {
      readonly from: readonly object[];
      readonly ports: readonly { readonly port: number }[];
    }[];
    readonly maxUnavailable?: number | string;
    readonly minAvailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: string;
  };
}

interface Pod {
  readonly name: string;
  readonly kind: string;
  readonly spec: PodSpec;
  readonly labels: Labels;
  readonly replicas: number;
  readonly selector: Labels | undefined;
}

/**
 * kube-linter's default checks (version 0.8.3, `internal/defaultchecks`), each true for an object that passes. They are an
 * implementation of their own, because few machines have kube-linter; it reports the same for each of `VIOLATIONS`.
 */
const POD_CHECKS: Readonly<Record<string, (pod: Pod) => boolean>> = {
  'deprecated-service-account-field': ({ spec }) => spec.serviceAccount === undefined,
  'non-existent-service-account': ({ spec }) => (spec.serviceAccountName ?? 'default') === 'default',
  'docker-sock': ({ spec }) => hostPaths(spec).every((path) => !path.endsWith('docker.sock')),
  'sensitive-host-mounts': ({ spec }) =>
    hostPaths(spec).every((path) => !/^\/(boot|dev|etc|lib|proc|sys|usr)?$/.test(path)),
  'host-ipc': ({ spec }) => spec.hostIPC !== true,
  'host-network': ({ spec }) => spec.hostNetwork !== true,
  'host-pid': ({ spec }) => spec.hostPID !== true,
  'unsafe-sysctls': ({ spec }) => spec.securityContext?.sysctls === undefined,
  'run-as-non-root': ({ spec: { securityContext } }) =>
    securityContext?.runAsNonRoot === true && securityContext.runAsUser !== 0 && securityContext.runAsGroup !== 0,
  'mismatching-selector': ({ selector, labels, kind }) => kind === 'Job' || matches(selector, labels),
  'no-anti-affinity': ({ spec, labels, replicas }) =>
    replicas < 2 ||
    (spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).some(
      ({ podAffinityTerm: { topologyKey, labelSelector } }) =>
        topologyKey === 'kubernetes.io/hostname' && matches(labelSelector.matchLabels, labels),
    ),
  ...ofEachContainer({
    'drop-net-raw-capability': ({ securityContext }) =>
      securityContext?.capabilities?.drop?.some((name) => name === 'ALL' || name === 'NET_RAW') ?? false,
    'duplicate-env-var': ({ env = [] }) => new Set(env.map(({ name }) => name)).size === env.length,
    'env-var-secret': ({ env = [] }) => env.every(({ name, value }) => !/secret/i.test(name) || !value),
    'latest-tag': ({ image }) => /:(?!latest$)[^/]+$/.test(image),
    'no-read-only-root-fs': ({ securityContext }) => securityContext?.readOnlyRootFilesystem === true,
    'privilege-escalation-container': ({ securityContext }) =>
      securityContext?.allowPrivilegeEscalation === false && securityContext.capabilities?.add === undefined,
    'privileged-container': ({ securityContext }) => securityContext?.privileged !== true,
    'liveness-port': (container) => isExposed(container, container.livenessProbe),
    'readiness-port': (container) => isExposed(container, container.readinessProbe),
    'startup-port': (container) => isExposed(container, container.startupProbe),
    'ssh-port': ({ ports = [] }) => ports.every(({ containerPort }) => containerPort !== 22),
    'unset-cpu-requirements': ({ resources }) => resources?.requests?.cpu !== undefined,
    'unset-memory-requirements': ({ resources }) => resources?.limits?.memory !== undefined,
  }),
};

const OBJECT_CHECKS: Readonly<Record<string, (object: KubernetesObject, all: readonly KubernetesObject[]) => boolean>> =
  {
    'no-extensions-v1beta': ({ apiVersion }) => !apiVersion.startsWith('extensions/v1beta'),
    'job-ttl-seconds-after-finished': ({ kind, spec }) => kind !== 'Job' || spec.ttlSecondsAfterFinished !== undefined,
    'dangling-service': ({ kind, spec }, all) =>
      kind !== 'Service' || pods(all).some(({ labels }) => matches(spec.selector, labels)),
    // A port's name: at most 15 letters, digits and hyphens (RFC 6335).
    'invalid-target-ports': ({ kind, spec }) =>
      kind !== 'Service' ||
      (spec.ports ?? []).every(
        ({ targetPort }) => typeof targetPort !== 'string' || /^[a-z0-9-]{1,15}$/.test(targetPort),
      ),
    'pdb-max-unavailable': ({ kind, spec }) =>
      kind !== 'PodDisruptionBudget' || !/^0%?$/.test(String(spec.maxUnavailable ?? 1)),
    'pdb-min-available': ({ kind, spec }) => kind !== 'PodDisruptionBudget' || spec.minAvailable === undefined,
    'pdb-unhealthy-pod-eviction-policy': ({ kind, spec }) =>
      kind !== 'PodDisruptionBudget' || spec.unhealthyPodEvictionPolicy !== undefined,
  };

/** Changes of the file, each with the only default check that kube-linter then reports. */
const VIOLATIONS: readonly (readonly [check: string, before: string, after: string])[] = [
  [
    'deprecated-service-account-field',
    'restartPolicy: OnFailure',
    'restartPolicy: OnFailure\n      serviceAccount: default',
  ],
  [
    'non-existent-service-account',
    'restartPolicy: OnFailure',
    'restartPolicy: OnFailure\n      serviceAccountName: unknown',
  ],
  ['docker-sock', 'emptyDir: { sizeLimit: 64Mi }', 'hostPath: { path: /var/run/docker.sock }'],
  ['sensitive-host-mounts', 'emptyDir: { sizeLimit: 64Mi }', 'hostPath: { path: /etc }'],
  ['host-ipc', 'restartPolicy: OnFailure', 'hostIPC: true'],
  ['host-network', 'restartPolicy: OnFailure', 'hostNetwork: true'],
  ['host-pid', 'restartPolicy: OnFailure', 'hostPID: true'],
  ['unsafe-sysctls', 'runAsUser: 1000,', 'runAsUser: 1000, sysctls: [{ name: kernel.msgmax, value: "1" }],'],
  ['run-as-non-root', 'runAsUser: 1000,', 'runAsUser: 0,'],
  ['run-as-non-root', 'runAsGroup: 1000,', 'runAsGroup: 0,'],
  ['no-anti-affinity', 'topologyKey: kubernetes.io/hostname', 'topologyKey: kubernetes.io/os'],
  ['drop-net-raw-capability', 'drop: [ALL]', 'drop: [CHOWN]'],
  ['duplicate-env-var', 'name: DATABASE_WORK_ROLE', 'name: DATABASE_SERVE_ROLE'],
  ['env-var-secret', 'name: DATABASE_WORK_ROLE', 'name: MY_SECRET'],
  ['latest-tag', 'image: flywheel:0.3.0', 'image: registry.example:5000/flywheel'],
  ['latest-tag', 'image: flywheel:0.3.0', 'image: flywheel:latest'],
  ['no-read-only-root-fs', 'readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false'],
  ['privilege-escalation-container', 'allowPrivilegeEscalation: false', 'allowPrivilegeEscalation: true'],
  ['liveness-port', 'path: /health/live, port: http', 'path: /health/live, port: other'],
  ['readiness-port', 'path: /health/ready, port: http', 'path: /health/ready, port: 4001'],
  ['ssh-port', 'name: metrics, containerPort: 9464', 'name: metrics, containerPort: 22'],
  ['unset-cpu-requirements', 'requests: { cpu: 250m, memory: 256Mi }', 'requests: { memory: 256Mi }'],
  ['unset-memory-requirements', 'limits: { memory: 1Gi }', 'limits: { cpu: 1 }'],
  ['job-ttl-seconds-after-finished', 'ttlSecondsAfterFinished: 86400', 'backoffLimit: 3'],
  ['dangling-service', 'selector: { app: flywheel-serve }', 'selector: { app: flywheel-http }'],
  ['invalid-target-ports', 'targetPort: http', 'targetPort: a-port-of-more-than-fifteen'],
  ['pdb-max-unavailable', 'maxUnavailable: 1', 'maxUnavailable: 0'],
  ['pdb-min-available', 'maxUnavailable: 1', 'minAvailable: 2'],
  ['pdb-unhealthy-pod-eviction-policy', 'unhealthyPodEvictionPolicy: AlwaysAllow, ', ''],
];

function failedChecks(file: string): string[] {
  const objects = parse(file);
  const failed = [
    ...Object.entries(POD_CHECKS).filter(([, passes]) => !pods(objects).every(passes)),
    ...Object.entries(OBJECT_CHECKS).filter(([, passes]) => !objects.every((object) => passes(object, objects))),
  ];
  return failed.map(([name]) => name);
}

function parse(file: string): KubernetesObject[] {
  return parseAllDocuments(file).map((document) => document.toJS());
}

/** Finds the pods that the objects start. */
function pods(objects: readonly KubernetesObject[]): Pod[] {
  return objects.flatMap(({ kind, metadata: { name }, spec }) =>
    spec?.template === undefined
      ? []
      : {
          name,
          kind,
          spec: spec.template.spec,
          labels: spec.template.metadata?.labels ?? {},
          replicas: spec.replicas ?? 1,
          selector: spec.selector?.matchLabels,
        },
  );
}

function ofEachContainer(checks: Readonly<Record<string, (container: Container) => boolean>>) {
  return Object.fromEntries(
    Object.entries(checks).map(([name, passes]) => [name, ({ spec }: Pod) => spec.containers.every(passes)]),
  );
}

function matches(selector: Labels | undefined, labels: Labels): boolean {
  return selector !== undefined && Object.entries(selector).every(([name, value]) => labels[name] === value);
}

function isExposed({ ports = [] }: Container, probe: Probe | undefined): boolean {
  const port = probe?.httpGet?.port;
  return port === undefined || ports.some(({ name, containerPort }) => port === name || port === containerPort);
}

function hostPaths({ volumes = [] }: PodSpec): string[] {
  return volumes.flatMap(({ hostPath }) => hostPath?.path ?? []);
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['version']).status === 0;
}

describe('the Kubernetes example', () => {
  it('passes what kube-linter checks by default', () => {
    assert.deepEqual(failedChecks(text), []);
  });

  it('passes kube-linter itself', { skip: !isInstalled('kube-linter') && 'kube-linter is not in PATH' }, () => {
    const { status, stdout, stderr } = spawnSync('kube-linter', ['lint', fileURLToPath(FILE)], { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}${stderr}`);
  });

  it('fails each of these checks, alone, after the change that breaks it', () => {
    for (const [check, before, after] of VIOLATIONS) {
      assert.ok(text.includes(before), `The file does not contain ${before}.`);
      assert.deepEqual(failedChecks(text.replace(before, after)), [check]);
    }
  });

  it('gives no pod a token of the cluster, and each the default system calls only', () => {
    for (const { name, spec } of pods(parse(text))) {
      assert.equal(spec.automountServiceAccountToken, false, name);
      assert.equal(spec.securityContext?.seccompProfile?.type, 'RuntimeDefault', name);
      for (const { securityContext } of spec.containers) {
        assert.deepEqual(securityContext?.capabilities?.drop, ['ALL'], name);
      }
    }
  });

  it('has a network policy for the incoming and the outgoing connections of each pod', () => {
    const objects = parse(text);
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    for (const { name, labels } of pods(objects)) {
      const own = policies.filter(({ spec }) => matches(spec.podSelector?.matchLabels, labels));
      assert.deepEqual(
        own.map(({ spec }) => spec.policyTypes?.toSorted()),
        [['Egress', 'Ingress']],
        name,
      );
    }
    const http = policies.flatMap(({ spec }) => spec.ingress ?? []).filter(({ ports }) => ports[0]?.port === 4_000);
    assert.deepEqual(
      http.map(({ from }) => from),
      [[{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }]],
    );
  });

  it('gives each role a secret of its own, and the signers to workers only', () => {
    const secrets = pods(parse(text)).map(({ name, spec }) => [
      name,
      ...spec.containers.flatMap(({ envFrom = [] }) => envFrom.flatMap(({ secretRef }) => secretRef?.name ?? [])),
      ...(spec.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? []),
    ]);
    assert.deepEqual(secrets, [
      ['flywheel-migrate', 'flywheel-database-owner'],
      ['flywheel-serve', 'flywheel-rpc', 'flywheel-database-serve'],
      ['flywheel-work', 'flywheel-rpc', 'flywheel-database-work', 'flywheel-signers'],
    ]);
    // Most providers put a key into it.
    assert.ok(parse(text).every(({ data }) => data?.SOLANA_RPC_URL === undefined));
  });

  it('serves requests until the ingress knows that a pod stops, and kills none before it has ended by itself', () => {
    for (const { name, spec } of pods(parse(text)).filter(({ kind }) => kind === 'Deployment')) {
      const pauses = spec.containers.map(({ lifecycle }) => lifecycle?.preStop.sleep.seconds ?? 0);
      assert.deepEqual(pauses, [name === 'flywheel-serve' ? 5 : 0], name);
      for (const pause of pauses)
        assert.ok((spec.terminationGracePeriodSeconds ?? 30) >= pause + STOP_SECONDS + 5, name);
    }
  });

  it('trusts one address as the proxy, and only for HTTP', () => {
    const objects = parse(text);
    const trusted = pods(objects).flatMap(({ name, spec }) =>
      spec.containers.flatMap(({ env = [] }) =>
        env.flatMap((each) => (each.name === 'TRUST_PROXY' ? [[name, each.value]] : [])),
      ),
    );
    assert.deepEqual(trusted, [['flywheel-serve', '192.0.2.10']]);
    assert.ok(objects.every(({ data }) => data?.TRUST_PROXY === undefined));
  });
});
