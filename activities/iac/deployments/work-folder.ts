import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Folders of running deployments: `<process id>-<deployment id>`, so that the next start knows whose owner is gone. */
export const workFolder = async (root: string, deploymentId: string): Promise<string> => {
  const folder = join(root, `${process.pid}-${deploymentId}`);
  await mkdir(root, { recursive: true, mode: 0o700 });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  return folder;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** At start: what earlier processes left behind. A folder with our own id is of an earlier process too. */
export const sweepWorkFolders = async (root: string): Promise<readonly string[]> => {
  const names = await readdir(root).catch(() => []);
  const left = names.filter((name) => {
    const pid = Number(/^(\d+)-/.exec(name)?.[1]);
    return pid > 0 && (pid === process.pid || !isAlive(pid));
  });
  await Promise.all(left.map((name) => rm(join(root, name), { recursive: true, force: true })));
  return left;
};

/** Bytes of all files below a folder; links are not followed. */
export const folderBytes = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await folderBytes(path);
    else bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
};
