import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ClusterSecrets } from './cluster-secrets.js';
import { generateClusterSecrets, withoutKey } from './cluster-secrets.js';

const NODE_OS_VERSION = 'v1.9.5';
const KUBERNETES_VERSION = 'v1.32.3';
/** A sample address: nothing listens there until somebody builds the cluster. */
const CLUSTER_ENDPOINT = 'https://192.0.2.10:6443';

const machineOf = (type: 'controlplane' | 'worker', secrets: ClusterSecrets) => ({
  type,
  token: secrets.machineToken,
  ca: type === 'controlplane' ? secrets.machineCa : withoutKey(secrets.machineCa),
  certSANs: [],
  kubelet: {
    image: `ghcr.io/siderolabs/kubelet:${KUBERNETES_VERSION}`,
    defaultRuntimeSeccompProfileEnabled: true,
    disableManifestsDirectory: true,
  },
  network: {},
  install: { disk: '/dev/sda', image: `ghcr.io/siderolabs/installer:${NODE_OS_VERSION}`, wipe: false },
  features: {
    rbac: true,
    stableHostname: true,
    apidCheckExtKeyUsage: true,
    diskQuotaSupport: true,
    kubePrism: { enabled: true, port: 7445 },
    hostDNS: { enabled: true, forwardKubeDNSToHost: true },
  },
});

const clusterOf = (secrets: ClusterSecrets) => ({
  id: secrets.clusterId,
  secret: secrets.clusterSecret,
  controlPlane: { endpoint: CLUSTER_ENDPOINT },
  clusterName: 'keystead-sample',
  network: { dnsDomain: 'cluster.local', podSubnets: ['10.244.0.0/16'], serviceSubnets: ['10.96.0.0/12'] },
  token: secrets.bootstrapToken,
  ca: withoutKey(secrets.clusterCa),
  discovery: { enabled: true, registries: { kubernetes: { disabled: true }, service: {} } },
});

const controlPlaneOf = (secrets: ClusterSecrets) => ({
  ...clusterOf(secrets),
  secretboxEncryptionSecret: secrets.secretboxKey,
  ca: secrets.clusterCa,
  aggregatorCA: secrets.aggregatorCa,
  serviceAccount: { key: secrets.serviceAccountKey },
  apiServer: { image: `registry.k8s.io/kube-apiserver:${KUBERNETES_VERSION}`, certSANs: ['192.0.2.10'] },
  controllerManager: { image: `registry.k8s.io/kube-controller-manager:${KUBERNETES_VERSION}` },
  proxy: { image: `registry.k8s.io/kube-proxy:${KUBERNETES_VERSION}` },
  scheduler: { image: `registry.k8s.io/kube-scheduler:${KUBERNETES_VERSION}` },
  etcd: { ca: secrets.etcdCa },
});

const document = (machine: object, cluster: object): string =>
  stringify({ version: 'v1alpha1', debug: false, persist: true, machine, cluster }, { lineWidth: 0 });

/** Small machine configs by file name that a node of version 1.9.5 accepts; all of one cluster. */
export const sampleRoleConfigs = (secrets: ClusterSecrets): Readonly<Record<string, string>> => {
  const worker = (group: string) =>
    document(
      { ...machineOf('worker', secrets), nodeLabels: { 'svc.io/node-group': group } },
      clusterOf(secrets),
    );
  return {
    'controlplane-final.yaml': document(machineOf('controlplane', secrets), controlPlaneOf(secrets)),
    'worker-infra-final.yaml': worker('infra'),
    'worker-app-final.yaml': worker('app'),
  };
};

/** Writes the sample configs with fresh cluster secrets (CAs, tokens, keys) unless the folder holds them already. */
export const ensureRoleConfigs = async (folder: string): Promise<void> => {
  if (existsSync(folder)) return;
  const scratch = `${folder}.${process.pid}`;
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(sampleRoleConfigs(await generateClusterSecrets())))
    await writeFile(join(scratch, name), text, { mode: 0o600 });
  await rename(scratch, folder);
};
