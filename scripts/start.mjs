/** `npm start`: installs and builds what is missing, then runs the whole system (scripts/stack). Needs nothing but Node.js. */
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureNodeModules, requireNodeVersion } from './tools/node-modules.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const start = async () => {
  requireNodeVersion();
  process.chdir(root);
  await ensureNodeModules(root);
  const { build } = await import('./build.mjs');
  await build();
  process.setSourceMapsEnabled(true);
  const { main } = await import(pathToFileURL(join(root, 'dist/scripts/stack/main.js')).href);
  await main(process.argv.slice(2));
};

start().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
