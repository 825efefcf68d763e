import { ensureBuilt } from './built.mjs';
import { installIacCli, OLDER_IAC_CLI_VERSION } from './iac-cli.mjs';
import { ensureNodeModules, requireNodeVersion } from './node-modules.mjs';
import { ensureSystemPrograms } from './system-packages.mjs';
import { ensureTemporalCli } from './temporal-cli.mjs';
import { ensureTestServer } from './temporal-test-server.mjs';

/**
 * Everything the tests need beside the sources, in the order in which the parts need each other. Quick when all is there;
 * throws an Error that says what is missing and how to get it.
 */
export const ensureTestTools = async (root) => {
  requireNodeVersion();
  await ensureSystemPrograms();
  await ensureNodeModules(root);
  await ensureTemporalCli(root);
  await ensureTestServer(root);
  await installIacCli();
  await installIacCli({ version: OLDER_IAC_CLI_VERSION });
  await ensureBuilt(root);
};
