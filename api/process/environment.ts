import { readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import type { Env, SettingSpec, Settings } from '../../domain/config/env.js';
import { parseSettings } from '../../domain/config/env.js';

/** The process environment over the `.env` file of the working directory. */
export const environment = (processEnv: Env, dotenvPath = '.env'): Env => {
  let file = '';
  try {
    file = readFileSync(dotenvPath, 'utf8');
  } catch {
    return processEnv;
  }
  return { ...parse(file), ...processEnv };
};

/** Parses settings where the process may read files. Throws ConfigError with every problem. */
export const loadSettings = <S extends SettingSpec>(spec: S, env: Env, strictPrefix?: string): Settings<S> =>
  parseSettings(spec, env, {
    readFile: (path) => readFileSync(path, 'utf8'),
    ...(strictPrefix === undefined ? {} : { strictPrefix }),
  });
