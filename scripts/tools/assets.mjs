import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Files that are shipped beside the code that reads them, as they are. */
const AS_THEY_ARE = /\.(mjs|html|css|svg|png|ico|json)$|\/public\/.*\.js$/;

const filesBelow = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

const relativeFiles = (root, folders) =>
  folders.flatMap((folder) => filesBelow(join(root, folder))).map((path) => path.slice(root.length + 1));

/** Copies what tsc does not: plain modules, pages and data files. */
export const copyAssets = async (root, folders) => {
  for (const path of relativeFiles(root, folders).filter((file) => AS_THEY_ARE.test(file))) {
    const target = join(root, 'dist', path);
    await mkdir(dirname(target), { recursive: true });
    await cp(join(root, path), target, { preserveTimestamps: true });
  }
};

/** Removes the output of sources that are gone: it must not be loaded by mistake. */
export const removeOrphans = async (root, folders) => {
  const made = new Set(relativeFiles(root, folders).map((path) => path.replace(/\.ts$/, '.js')));
  const dist = join(root, 'dist');
  for (const path of relativeFiles(dist, folders))
    if (!made.has(path.replace(/\.map$/, ''))) await rm(join(dist, path));
};
