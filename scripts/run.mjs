/** `node scripts/run.mjs <name> …`: runs dist/<entry>.js in this process, after a build when a source is newer. */
import { existsSync } from 'node:fs';
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
const entry = [join(root, 'dist/api/cli', `${name}.js`), join(root, 'dist', `${name}.js`)].find((path) =>
  existsSync(path),
);
if (entry === undefined) {
  console.error(`no such program: ${name}`);
  process.exit(2);
}
await import(pathToFileURL(entry).href);
