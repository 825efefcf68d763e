import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Workflow entries, one bundle each; a queue's worker loads `<name>.js`. */
export const bundleEntries = ['broker', 'iac', 'vending'] as const;
export type BundleName = (typeof bundleEntries)[number];

/** Bundles the workflows of one domain into `outDir/<name>.js`; part of the build, and of the test set-up. */
export const writeBundle = async (
  name: BundleName,
  outDir: string,
  extension: 'ts' | 'js',
): Promise<string> => {
  const workflowsPath = fileURLToPath(new URL(`../workflows/${name}/index.${extension}`, import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath });
  await mkdir(outDir, { recursive: true });
  const target = join(outDir, `${name}.js`);
  await writeFile(`${target}.${process.pid}`, code);
  await rename(`${target}.${process.pid}`, target);
  return target;
};
