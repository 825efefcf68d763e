import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Role } from '../../domain/broker/machine.js';
import { baseConfigFile, nodeConfigEdits, yamlQuoted } from '../../domain/broker/node-config.js';
import type { NodeConfigOverrides } from '../../domain/broker/node-config.js';
import { AppError } from '../../domain/errors.js';
import { parseConfigDocument } from './config-document.js';
import type { ConfigDocument } from './config-document.js';

interface RoleConfigs {
  /**
   * The role's base config with the machine's overrides (YAML). Throws `unavailable`, code `base_config_missing`
   * when the role has no base file and `base_config_unusable` when the file is no machine config.
   */
  render(role: Role, machine: NodeConfigOverrides): Promise<string>;
}

interface RoleConfigsOptions {
  /** SVC_CONFIG_CACHE_DIR. */
  readonly dir: string;
  /** SVC_INSTALLER_IMAGE. */
  readonly installerImage: string;
}

/** A base file as it was at one moment, and the templates made of it so far. */
interface Base {
  readonly version: string;
  readonly document: ConfigDocument;
  readonly templates: Map<string, Template>;
}

/** A config cut where the machine's own values go. */
interface Template {
  readonly first: string;
  readonly slots: readonly { readonly field: keyof Slots; readonly after: string }[];
}
/** The values that differ from machine to machine, quoted. */
type Slots = Readonly<Record<'machineId' | 'ekFingerprint' | 'ekStart' | 'hostname' | 'assignedIp', string>>;

/**
 * Base configs are read again when their file changes. YAML is only written for the first machine of a kind (with or
 * without hostname and address); the others are that text with their own values in the places of the first one's.
 */
export const createRoleConfigs = ({ dir, installerImage }: RoleConfigsOptions): RoleConfigs => {
  const bases = new Map<Role, Base>();

  const baseOf = async (role: Role): Promise<Base> => {
    const path = join(dir, baseConfigFile(role));
    const version = await versionOf(path);
    const known = bases.get(role);
    if (known?.version === version) return known;
    const base = { version, document: await load(path), templates: new Map<string, Template>() };
    bases.set(role, base);
    return base;
  };
  return {
    render: async (role, machine) => {
      const base = await baseOf(role);
      if (machine.files !== undefined) return renderOr503(base.document, machine, installerImage);
      const kind = `${machine.hostname === null} ${machine.assignedIp === null}`;
      const template = base.templates.get(kind) ?? createTemplate(base.document, machine, installerImage);
      base.templates.set(kind, template);
      return fill(template, slotsOf(machine));
    },
  };
};

const slotsOf = (machine: NodeConfigOverrides): Slots => ({
  machineId: yamlQuoted(machine.machineId),
  ekFingerprint: yamlQuoted(machine.ekFingerprint),
  ekStart: yamlQuoted(machine.ekFingerprint.slice(0, 16)),
  hostname: yamlQuoted(machine.hostname ?? ''),
  assignedIp: yamlQuoted(machine.assignedIp ?? ''),
});

/** Renders once with values that nothing else in the file can equal, and cuts the text at them. */
const createTemplate = (document: ConfigDocument, like: NodeConfigOverrides, image: string): Template => {
  const unique = (): string => randomUUID().replaceAll('-', '');
  const standIn: NodeConfigOverrides = {
    machineId: unique(),
    ekFingerprint: unique() + unique() + unique(),
    hostname: like.hostname === null ? null : unique(),
    assignedIp: like.assignedIp === null ? null : unique(),
  };
  const fieldOf = new Map(
    Object.entries(slotsOf(standIn)).map(([field, text]) => [text, field as keyof Slots]),
  );
  fieldOf.delete(yamlQuoted(''));
  const text = renderOr503(document, standIn, image);
  const [first = '', ...rest] = text.split(new RegExp(`(${[...fieldOf.keys()].join('|')})`));
  const slots = rest.flatMap((piece, index) => {
    const field = fieldOf.get(piece);
    return field === undefined ? [] : [{ field, after: rest[index + 1] ?? '' }];
  });
  return { first, slots };
};

const fill = ({ first, slots }: Template, values: Slots): string =>
  first + slots.map(({ field, after }) => values[field] + after).join('');

const versionOf = async (path: string): Promise<string> => {
  try {
    const { ino, mtimeNs, size } = await stat(path, { bigint: true });
    return [ino, mtimeNs, size].join('.');
  } catch (cause) {
    throw unavailable('base_config_missing', cause);
  }
};

const load = async (path: string): Promise<ConfigDocument> => {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw unavailable('base_config_missing', cause);
  });
  try {
    return parseConfigDocument(text);
  } catch (cause) {
    throw unavailable('base_config_unusable', cause);
  }
};

const renderOr503 = (document: ConfigDocument, machine: NodeConfigOverrides, image: string): string => {
  try {
    return document.render(nodeConfigEdits(machine, image));
  } catch (cause) {
    throw unavailable('base_config_unusable', cause);
  }
};

/** The caller learns that there is none; why is for the log. */
const unavailable = (code: string, cause: unknown): AppError =>
  new AppError('unavailable', 'Base config not available', { code, cause });
