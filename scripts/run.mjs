/** `node scripts/run.mjs <name> …`: runs dist/<entry>.js in this process, after a build when a source is newer. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt } from './tools/built.mjs';
import { packageRoot } from './tools/paths.mjs';

const [name = ''] = process.argv.splice(2, 1);
const root = packageRoot();
process.setSourceMapsEnabled(true);
try {
  await ensureBuilt(root);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
/** Addresses and keys that `npm start` made in this clone, where the caller has not set their own. */
function useRunningStack() {
  const path = join(process.env.STACK_DATA_DIR || join(root, '.data'), 'environment.json');
  if (!existsSync(path)) return;
  for (const [key, value] of Object.entries(JSON.parse(readFileSync(path, 'utf8'))))
    process.env[key] ||= value;
}

const entry = [join(root, 'dist/api/cli', `${name}.js`), join(root, 'dist', `${name}.js`)].find((path) =>
  existsSync(path),
);
if (entry === undefined) {
  console.error(`no such program: ${name}`);
  process.exit(2);
}
if (entry.includes('/api/cli/')) useRunningStack();
await import(pathToFileURL(entry).href);
