/** `node docker/make-secrets.mjs`: fresh secrets for docker-compose.yml in ./secrets; what is there already stays. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'secrets');
mkdirSync(folder, { recursive: true, mode: 0o700 });

// Readable by the containers' own users, in a folder that only its owner may enter.
const make = (name, value) => {
  const path = join(folder, name);
  if (!existsSync(path)) writeFileSync(path, value, { mode: 0o644 });
  return readFileSync(path, 'utf8');
};

const random = () => randomBytes(24).toString('base64url');
const password = make('postgres_password', random());
make('database_url', `postgresql://keystead:${password}@postgresql:5432/keystead`);
make('admin_token', random());
make('iac_token', random());
make('master_key', randomBytes(32).toString('hex'));
console.log(`secrets for docker compose are in ${folder}`);
