import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds package-lock.json, from the sources and from dist/ alike. */
export const packageRoot = () => {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package-lock.json'))) {
    if (dirname(folder) === folder) throw new Error('package-lock.json not found above the scripts');
    folder = dirname(folder);
  }
  return folder;
};
