import { createLogger } from '../../api/process/logger.js';
import { runProcess } from '../../api/process/run.js';
import { startLocalCloud } from './server.js';

/** The local cloud as a process of its own: `main.js <folder> <port>`. */
const [dir = '.data/cloud', port = '8092'] = process.argv.slice(2);
const log = createLogger('local-cloud', process.env['LOG_LEVEL'] ?? 'info');

await runProcess(log, async ({ onStop }) => {
  const cloud = await startLocalCloud({ dir, port: Number(port), log });
  onStop(cloud.close);
  log.info({ origin: cloud.origin, settings: cloud.settings }, 'local cloud runs');
});
