import { randomBytes } from 'node:crypto';

/** Values that must be found nowhere but where they belong; each is unlike anything else in a text. */
export interface PlantedSecrets {
  readonly adminToken: string;
  readonly registerToken: string;
  /** 64 hex characters. */
  readonly masterKey: string;
}

export const plantSecrets = (): PlantedSecrets => ({
  adminToken: `planted-admin-${randomBytes(18).toString('base64url')}`,
  registerToken: `planted-register-${randomBytes(18).toString('base64url')}`,
  masterKey: randomBytes(32).toString('hex'),
});

/** Ways to write a value down that a search would otherwise miss. */
const spellings = (value: string): readonly string[] => {
  const bytes = Buffer.from(value);
  return [
    value,
    encodeURIComponent(value),
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    JSON.stringify(value).slice(1, -1),
  ];
};

export interface Leak {
  readonly secret: string;
  readonly place: string;
}

/** Names of the secrets that occur in a text, in any spelling. */
export const findLeaks = (
  secrets: Readonly<Record<string, string>>,
  places: Readonly<Record<string, string>>,
): readonly Leak[] =>
  Object.entries(places).flatMap(([place, text]) => {
    const lower = text.toLowerCase();
    return Object.entries(secrets)
      .filter(([, value]) => spellings(value).some((spelling) => lower.includes(spelling.toLowerCase())))
      .map(([secret]) => ({ secret, place }));
  });
