/** `npm start`: installs and builds what is missing, then runs the whole system (scripts/stack). Needs nothing but Node.js. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt } from './tools/built.mjs';
import { ensureNodeModules, requireNodeVersion } from './tools/node-modules.mjs';
import { packageRoot } from './tools/paths.mjs';

const root = packageRoot();

const start = async () => {
  requireNodeVersion();
  process.chdir(root);
  await ensureNodeModules(root);
  await ensureBuilt(root);
  process.setSourceMapsEnabled(true);
  const { main } = await import(pathToFileURL(join(root, 'dist/scripts/stack/main.js')).href);
  await main(process.argv.slice(2));
};

start().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
