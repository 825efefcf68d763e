import type { Role } from './machine.js';

/** What a machine's own record adds to the base config of its role. */
export interface NodeConfigOverrides {
  readonly machineId: string;
  /** 96 hex. */
  readonly ekFingerprint: string;
  readonly hostname: string | null;
  /** CIDR notation. */
  readonly assignedIp: string | null;
  /** Files written on the node; offline bundles only. */
  readonly files?: readonly NodeFile[];
}

export interface NodeFile {
  readonly path: string;
  /** e.g. 0o400. */
  readonly permissions: number;
  readonly content: string;
}

/** A value put into a config. Text is written quoted; a number as octal, as the node OS writes file modes. */
export type ConfigValue = string | number | readonly ConfigValue[] | { readonly [key: string]: ConfigValue };

/** One change of a role config, applied in order to the document that holds `machine`. */
export type ConfigEdit =
  /** Sets the key at `path`, making the maps on the way; `ifAbsent` leaves a value that is there. */
  | {
      readonly op: 'set';
      readonly path: readonly string[];
      readonly value: ConfigValue;
      readonly ifAbsent?: true;
    }
  /** Sets keys of the first item of the list at `path`; an empty list gets `otherwise` as its first item. */
  | {
      readonly op: 'set-first';
      readonly path: readonly string[];
      readonly key: string;
      readonly value: ConfigValue;
      readonly otherwise: ConfigValue;
    }
  /** Adds items to the list at `path`. */
  | { readonly op: 'append'; readonly path: readonly string[]; readonly items: readonly ConfigValue[] };

/** The override table of the specification (section Config delivery) as edits of a node OS machine config. */
export const nodeConfigEdits = (
  machine: NodeConfigOverrides,
  installerImage: string,
): readonly ConfigEdit[] => {
  const label = (name: string, value: string): ConfigEdit => ({
    op: 'set',
    path: ['machine', 'nodeLabels', `svc.io/${name}`],
    value,
  });
  const annotation = (name: string, value: string): ConfigEdit => ({
    op: 'set',
    path: ['machine', 'nodeAnnotations', `svc.io/${name}`],
    value,
  });
  return [
    { op: 'set', path: ['machine', 'install', 'image'], value: installerImage, ifAbsent: true },
    ...hostnameEdits(machine.hostname),
    ...addressEdits(machine.assignedIp),
    label('machine-id', machine.machineId),
    label('tpm-ek', machine.ekFingerprint.slice(0, 16)),
    label('attested', 'true'),
    annotation('tpm-ek-full', machine.ekFingerprint),
    annotation('machine-id', machine.machineId),
    ...fileEdits(machine.files ?? []),
  ];
};

const hostnameEdits = (hostname: string | null): ConfigEdit[] =>
  hostname === null ? [] : [{ op: 'set', path: ['machine', 'network', 'hostname'], value: hostname }];

const addressEdits = (cidr: string | null): ConfigEdit[] => {
  if (cidr === null) return [];
  const path = ['machine', 'network', 'interfaces'];
  const otherwise = { interface: 'eth0', addresses: [cidr] };
  return [{ op: 'set-first', path, key: 'addresses', value: [cidr], otherwise }];
};

const fileEdits = (files: readonly NodeFile[]): ConfigEdit[] => {
  const items = files.map(({ path, permissions, content }) => ({
    content,
    permissions,
    path,
    op: 'create',
  }));
  return items.length === 0 ? [] : [{ op: 'append', path: ['machine', 'files'], items }];
};

/** Text as a double-quoted YAML scalar on one line, the same in YAML 1.1 and 1.2. */
export const yamlQuoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** The file of a role's base config in SVC_CONFIG_CACHE_DIR. */
export const baseConfigFile = (role: Role): string => `${role}-final.yaml`;

/** 32 bytes in base64, as the node OS wants a cluster id; it names no cluster. */
const NO_CLUSTER_ID = 'cGVuZGluZy1hcHByb3ZhbC1uby1jbHVzdGVyLXlldC0=';

/** What a machine gets that may not have its config yet (YAML). It holds no secret. */
export const pendingConfig = (serviceUrl: string): string =>
  [
    'cluster:',
    `  id: ${NO_CLUSTER_ID}`,
    "  secret: ''",
    'debug: false',
    'machine:',
    '  env:',
    `    SVC_REG_URL: ${yamlQuoted(serviceUrl)}`,
    '  nodeLabels:',
    '    svc.io/flavor: controlplane-stack',
    '    svc.io/managed-by: talos',
    '    svc.io/status: pending-approval',
    '  type: worker',
    'persist: true',
    'version: v1alpha1',
    '',
  ].join('\n');
