import {
  count,
  flag,
  list,
  listOf,
  oneOf,
  optionalText,
  optionalUrl,
  port,
  secret,
  text,
  url,
} from './env.js';
import type { Settings } from './env.js';
import { roles } from '../broker/machine.js';

/** The broker (`SVC_`), in the gateway and in its worker. */
export const brokerSettings = {
  SVC_HOST: text('127.0.0.1', 'Address that the gateway listens on.'),
  SVC_PORT: port(8081, 'Port that the gateway listens on.'),
  SVC_SERVICE_URL: url('http://127.0.0.1:8081', 'Public address of the service: the base of `config_url`.'),
  SVC_TRUSTED_PROXIES: list(
    '127.0.0.0/8,::1/128',
    'CIDR list of proxies whose `X-Forwarded-For` and `X-Client-Cert` are believed.',
  ),
  SVC_RATE_LIMIT_PER_MINUTE: count(
    6000,
    'Requests to public endpoints a minute and source address; 0 = no limit.',
  ),

  SVC_ADMIN_TOKEN: secret('Break-glass operator token; acts are audited as `SYSTEM`.'),
  SVC_OIDC_ENABLED: flag(true, '`false` turns operator JWTs off.'),
  SVC_OIDC_ISSUER: optionalUrl('Issuer of operator access tokens; its discovery document names the key set.'),
  SVC_OIDC_AUDIENCE: optionalText('`aud` that operator tokens must carry; unset = not checked.'),
  SVC_OIDC_CLIENT_ID: optionalText(
    'Client whose `resource_access` roles count; unset = the roles of every client in the token.',
  ),
  SVC_OIDC_OPERATOR_ROLE: text('attestation-operator', 'Role that makes an identity an operator.'),
  SVC_HIGH_ASSURANCE: flag(
    false,
    'Hardened mode: https only (by `X-Forwarded-Proto` of a trusted proxy), break-glass may not vote, no key leaves in the clear.',
  ),
  SVC_TLS_MIN_VERSION: text('TLSv1.3', 'Least TLS version of the fronting proxy, for its policy.'),
  SVC_TLS_CIPHERS: text('TLS_AES_256_GCM_SHA384', 'Cipher suites of the fronting proxy, for its policy.'),

  SVC_REGISTER_TOKEN: secret('When set, `POST /api/v1/register` demands it as bearer token.'),
  SVC_PENDING_LIMIT: count(
    100_000,
    'Machines that may wait for approval; beyond it unknown machines get 429 (0 = no limit).',
  ),
  SVC_ISO_URL: optionalUrl('Prebuilt image for `register`; unset = the image factory is asked.'),
  SVC_FACTORY_URL: url('https://factory.talos.dev', 'Image factory.'),
  SVC_FACTORY_EXTENSIONS: list('', 'System extensions in every image, comma-separated.'),
  SVC_TALOS_VERSION: text('v1.9.5', 'Version of the node OS in image addresses.'),
  SVC_INSTALLER_IMAGE: text(
    'ghcr.io/siderolabs/installer:v1.9.5',
    '`machine.install.image` of configs whose base names none.',
  ),

  SVC_CONFIG_CACHE_DIR: text(
    '/var/lib/svc-reg/configs',
    'Folder of the role base configs, `<role>-final.yaml`.',
  ),
  SVC_CONFIG_RELEASE: oneOf(
    ['attested', 'registered'],
    'attested',
    'Status from which a token releases the full config; `registered` is for sites that boot straight from the ISO.',
  ),
  SVC_REQUIRE_ENCRYPTED_DELIVERY: flag(false, 'Refuse (406) to send a full config in plaintext.'),

  SVC_NONCE_STORE: oneOf(
    ['memory', 'postgres'],
    'memory',
    'Where attestation nonces live; several gateways behind one address need `postgres`.',
  ),
  SVC_NONCE_CAPACITY: count(
    10_000,
    'Outstanding nonces; one source may hold a tenth of them.',
    10,
    10_000_000,
  ),
  SVC_REQUIRE_NONCE: flag(false, 'Attestation must name a nonce (and sign it once the machine has an AK).'),
  SVC_REQUIRE_QUOTE: flag(false, 'Attestation must carry a quote by the activated AK.'),

  SVC_DUAL_CONTROL_ROLES: listOf(roles, '', 'Roles that two operators must approve.'),
  SVC_DUAL_CONTROL_WINDOW_SECONDS: count(600, 'How long a first vote waits for the second.', 1, 86_400 * 7),
  SVC_WIPE_DEADLINE_SECONDS: count(
    86_400,
    'After this time an unreported wipe raises `machine.wipe_overdue`.',
    1,
    86_400 * 365,
  ),
};

export type BrokerConfig = Settings<typeof brokerSettings>;
