import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Role } from '../../domain/broker/machine.js';
import { baseConfigFile, nodeConfigEdits } from '../../domain/broker/node-config.js';
import type { NodeConfigOverrides } from '../../domain/broker/node-config.js';
import { AppError } from '../../domain/errors.js';
import { parseConfigDocument } from './config-document.js';
import type { ConfigDocument } from './config-document.js';

export interface RoleConfigs {
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

/** A base file as it was at one moment. */
interface Base {
  readonly version: string;
  readonly document: ConfigDocument;
}

/** Characters of rendered configs kept in memory. */
const MAX_CACHED_CHARACTERS = 32 * 1_048_576;

/** Base configs are read again when their file changes; rendered ones are kept by (file version, overrides). */
export const createRoleConfigs = ({ dir, installerImage }: RoleConfigsOptions): RoleConfigs => {
  const bases = new Map<Role, Base>();
  const rendered = new LRUCache<string, string>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: (text, key) => text.length + key.length,
  });

  const baseOf = async (role: Role): Promise<Base> => {
    const path = join(dir, baseConfigFile(role));
    const version = await versionOf(path);
    const known = bases.get(role);
    if (known?.version === version) return known;
    const base = { version, document: await load(path) };
    bases.set(role, base);
    return base;
  };
  return {
    render: async (role, machine) => {
      const { document, version } = await baseOf(role);
      const edit = (): string => renderOr503(document, machine, installerImage);
      if (machine.files !== undefined) return edit(); // holds a private key that is issued once
      const key = JSON.stringify([role, version, machine]);
      const known = rendered.get(key);
      if (known !== undefined) return known;
      const text = edit();
      rendered.set(key, text);
      return text;
    },
  };
};

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
