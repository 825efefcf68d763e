import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { workflowIds } from '../../../workflows/ids.js';
import { fetchToken } from '../oidc/issuer.js';
import { call, linkTo } from './http.js';

type Env = Readonly<Record<string, string>>;
type Tell = (line: string) => void;

const ROLE = 'controlplane';

/** What a node knows of itself; its key lies in memory here, in a TPM on a real one. */
const newNode = () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return {
    ek_source: 'pub',
    ek_cert_pem: der.toString('base64'),
    ek_fingerprint: createHash('sha384').update(der).digest('hex'),
    hw_uuid: randomUUID(),
    hw_product: 'demo node',
  };
};

const approveTwice = async (broker: string, env: Env, machineId: string, tell: Tell): Promise<void> => {
  for (const name of ['ann', 'ben']) {
    const token = await fetchToken(env['SVC_OIDC_ISSUER'] ?? '', name);
    const { status } = await call(`${broker}/api/v1/machines/${machineId}/approve`, {
      token,
      body: { role: ROLE, hostname: 'demo-1' },
    });
    tell(`${name} approves it as ${ROLE}: ${status}${status === 202 ? ', one more is needed' : ''}`);
    if (status === 202) tell(`  ${linkTo(env, workflowIds.approval(machineId))}`);
  }
};

/** A node registers, two operators approve it, it attests and fetches its config; the audit chain is checked. */
export const playNode = async (env: Env, tell: Tell): Promise<void> => {
  const broker = env['SVC_SERVICE_URL'] ?? '';
  const node = newNode();
  const registered = await call<{ machine_id: string; status: string }>(`${broker}/api/v1/self-register`, {
    body: node,
  });
  const machineId = registered.body.machine_id;
  tell(`a node registers itself as ${machineId}: ${registered.body.status}`);
  const waiting = await call<{ action: string }>(`${broker}/api/v1/attest`, { body: node });
  tell(`it polls, and is told to do: ${waiting.body.action}`);
  await approveTwice(broker, env, machineId, tell);
  const attested = await call<{ action: string; config_url: string }>(`${broker}/api/v1/attest`, {
    body: node,
  });
  tell(`it attests, and is told to do: ${attested.body.action}`);
  const config = await call<string>(attested.body.config_url);
  tell(`it fetches its machine config: ${config.body.length} characters of YAML`);
  const token = await fetchToken(env['SVC_OIDC_ISSUER'] ?? '', 'ann');
  const audit = await call<{ valid: boolean; entries: number }>(`${broker}/api/v1/audit/verify`, { token });
  tell(`the audit chain has ${audit.body.entries} rows and is ${audit.body.valid ? 'intact' : 'BROKEN'}`);
};
