import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SreDeps } from '../context.js';
import { settingText } from './configuration.js';
import type { Finding } from './finding.js';
import { fail, messageOf, ok, warn } from './finding.js';

const DEFAULT_CA_DIR = '/var/lib/svc-reg/ca/';
const WARN_BEFORE_EXPIRY_MS = 90 * 86_400_000;

/** What seals values, who may operate, and the files of the enrollment CA. */
export const checkKeys = (deps: SreDeps): readonly Finding[] => [
  checkServiceKey(deps),
  checkOperators(deps),
  ...checkAuthority(settingText(deps, 'SVC_ENROLLMENT_CA_DIR') ?? DEFAULT_CA_DIR, deps.now()),
];

const checkServiceKey = (deps: SreDeps): Finding => {
  if (settingText(deps, 'SVC_SHARED_SECRET_MASTER_KEY') !== undefined) return ok('service key', 'given');
  if (settingText(deps, 'SVC_SHARED_SECRET_PASSPHRASE') !== undefined)
    return ok('service key', 'from a passphrase');
  return warn(
    'service key',
    'ephemeral: drawn at start, sealed secrets and config tokens die with the process',
    'set SVC_SHARED_SECRET_MASTER_KEY to `openssl rand -hex 32`',
  );
};

const checkOperators = (deps: SreDeps): Finding => {
  const methods = ['SVC_OIDC_ISSUER', 'SVC_ADMIN_TOKEN'].filter(
    (name) => settingText(deps, name) !== undefined,
  );
  return methods.length > 0
    ? ok('operator sign-in', methods.join(', '))
    : warn('operator sign-in', 'operator endpoints answer 503', 'set SVC_OIDC_ISSUER or SVC_ADMIN_TOKEN');
};

const checkAuthority = (dir: string, now: number): readonly Finding[] => {
  const keyPath = join(dir, 'enrollment-ca.key');
  const certPath = join(dir, 'enrollment-ca.crt');
  const hasKey = existsSync(keyPath);
  if (!hasKey && !existsSync(certPath))
    return [warn('enrollment CA', `none in ${dir}`, 'the first gateway to start creates it')];
  if (!hasKey || !existsSync(certPath))
    return [fail('enrollment CA', `${hasKey ? certPath : keyPath} is missing`, 'restore it from the backup')];
  return [checkKeyMode(keyPath), checkCertificate(certPath, now)];
};

const checkKeyMode = (path: string): Finding => {
  const mode = statSync(path).mode & 0o777;
  return (mode & 0o077) === 0
    ? ok('CA key', `${path} mode 0${mode.toString(8)}`)
    : fail('CA key', `${path} mode 0${mode.toString(8)} lets others read it`, `chmod 600 ${path}`);
};

const checkCertificate = (path: string, now: number): Finding => {
  try {
    const certificate = new X509Certificate(readFileSync(path));
    const left = Date.parse(certificate.validTo) - now;
    const detail = `valid until ${certificate.validTo}`;
    if (left <= 0) return fail('CA certificate', `expired: ${detail}`, 'replace the CA (docs/operations)');
    return left < WARN_BEFORE_EXPIRY_MS
      ? warn('CA certificate', detail, 'plan its replacement')
      : ok('CA certificate', detail);
  } catch (error) {
    return fail('CA certificate', `${path}: ${messageOf(error)}`, 'restore it from the backup');
  }
};
