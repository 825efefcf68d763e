import { loadEnrollmentAuthority } from '../../activities/broker/enrollment-authority.js';
import { createKeyRing } from '../../activities/crypto/key-ring.js';
import { connectDatabase } from '../../db/connect.js';
import { migrate } from '../../db/migrate.js';
import { databaseSettings } from '../../domain/config/database.js';
import { logSettings } from '../../domain/config/log.js';
import { svcSettings } from '../../domain/config/svc.js';
import { temporalSettings } from '../../domain/config/temporal.js';
import { serve } from '../http/serve.js';
import { environment, loadSettings } from '../process/environment.js';
import { createLogger } from '../process/logger.js';
import { retryUntilUp, runProcess } from '../process/run.js';
import { connectTemporal } from '../temporal/client.js';
import { createBrokerGateway } from './server.js';

const env = environment(process.env);
const log = createLogger('broker-gateway', env['LOG_LEVEL'] ?? 'info');

await runProcess(log, async ({ onStop }) => {
  const settings = loadSettings(
    { ...svcSettings, ...databaseSettings, ...temporalSettings, ...logSettings },
    env,
    'SVC_',
  );
  const temporal = connectTemporal(settings);
  onStop(() => temporal.close());
  const db = connectDatabase(settings, 'broker-gateway');
  onStop(() => db.destroy());
  await retryUntilUp(log, 'database', () => migrate(db));
  const keyRing = createKeyRing({
    masterKey: settings.SVC_SHARED_SECRET_MASTER_KEY,
    passphrase: settings.SVC_SHARED_SECRET_PASSPHRASE,
    previousKeys: settings.SVC_SHARED_SECRET_PREVIOUS_KEYS,
  });
  const gateway = createBrokerGateway({
    ...{ config: settings, db, temporal: temporal.client, log, keyRing },
    authority: await loadEnrollmentAuthority(db, settings),
  });
  onStop(gateway.close);
  const { SVC_HOST: host, SVC_PORT: port } = settings;
  const server = await serve(gateway.app, { host, port, portSetting: 'SVC_PORT', log });
  onStop(server.close);
});
