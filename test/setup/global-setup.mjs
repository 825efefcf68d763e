/** Starts what all suites share: PostgreSQL, and the workflow bundles. Suites find both by environment variables. */
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { startEmbeddedPostgres } from '../../scripts/tools/embedded-postgres.mjs';

const freePort = () =>
  new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

const startPostgres = async (dir) => {
  const server = await startEmbeddedPostgres({
    dataDir: join(dir, 'postgres'),
    port: await freePort(),
    settings: { max_connections: 300, shared_buffers: '128MB' },
  });
  process.env.TEST_DATABASE_URL = server.url;
  return server;
};

const bundleWorkflows = async (dir) => {
  const root = resolve(import.meta.dirname, '../..');
  await mkdir(join(dir, 'bundles'), { recursive: true });
  for (const name of ['broker', 'iac', 'vending']) {
    const workflowsPath = join(root, 'workflows', name, 'index.ts');
    if (!existsSync(workflowsPath)) continue;
    const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
    await writeFile(join(dir, 'bundles', `${name}.js`), code);
  }
  process.env.TEST_BUNDLE_DIR = join(dir, 'bundles');
};

export default async () => {
  const dir = await mkdtemp(join(tmpdir(), 'keystead-test-'));
  await chmod(dir, 0o755);
  process.env.TEST_RUN_DIR = dir;
  globalThis.__keystead = {
    dir,
    postgres: process.env.TEST_DATABASE_URL ? undefined : await startPostgres(dir),
  };
  await bundleWorkflows(dir);
};
