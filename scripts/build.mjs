/** `npm run build`: dist/ and the workflow bundles, whether or not they look current. */
import { ensureBuilt } from './tools/built.mjs';
import { packageRoot } from './tools/paths.mjs';

try {
  await ensureBuilt(packageRoot(), { force: true });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
