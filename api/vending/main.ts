import { readFileSync } from 'node:fs';
import { connectDatabase } from '../../db/connect.js';
import { migrate } from '../../db/migrate.js';
import { databaseSettings } from '../../domain/config/database.js';
import { logSettings } from '../../domain/config/log.js';
import { temporalSettings } from '../../domain/config/temporal.js';
import { parseVending } from '../../domain/config/vending.js';
import { serve } from '../http/serve.js';
import { environment, loadSettings } from '../process/environment.js';
import { createLogger } from '../process/logger.js';
import { retryUntilUp, runProcess } from '../process/run.js';
import { createVendingGateway } from './server.js';

const env = environment(process.env);
const log = createLogger('vending-gateway', env['LOG_LEVEL'] ?? 'info');

await runProcess(log, async ({ onStop }) => {
  const config = parseVending(env, (path) => readFileSync(path, 'utf8'));
  const settings = loadSettings({ ...databaseSettings, ...temporalSettings, ...logSettings }, env);
  const db = connectDatabase(settings, 'vending-gateway');
  onStop(() => db.destroy());
  await retryUntilUp(log, 'database', () => migrate(db));
  const gateway = createVendingGateway({
    config,
    temporal: settings,
    db,
    databaseUrl: settings.DATABASE_URL,
    log,
  });
  onStop(gateway.close);
  const { VENDING_HOST: host, VENDING_PORT: port } = config;
  const server = await serve(gateway.app, { host, port, portSetting: 'VENDING_PORT', log });
  onStop(server.close);
});
