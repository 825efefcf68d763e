import { forge, keyPair, rs256, startStaticIssuer } from './static-issuer.js';

export interface Operators {
  /** Value of `SVC_OIDC_ISSUER`. */
  readonly issuerUrl: string;
  /** Request headers of the operator of that name. */
  readonly headers: (name: string) => { authorization: string };
  readonly stop: () => Promise<void>;
}

const TOKEN_SECONDS = 3_600;

/** Any number of operators with tokens of an issuer of the test's own. */
export const startOperators = async (): Promise<Operators> => {
  const { privateKey, jwk } = keyPair('rsa', 'operators');
  const issuer = await startStaticIssuer([jwk]);
  const sign = rs256(privateKey);
  return {
    issuerUrl: issuer.url,
    headers: (name) => {
      const now = Math.floor(Date.now() / 1000);
      const token = forge(
        { alg: 'RS256', kid: 'operators', typ: 'JWT' },
        {
          iss: issuer.url,
          sub: `sub-of-${name}`,
          preferred_username: name,
          iat: now,
          exp: now + TOKEN_SECONDS,
          realm_access: { roles: ['attestation-operator'] },
        },
        sign,
      );
      return { authorization: `Bearer ${token}` };
    },
    stop: issuer.stop,
  };
};
