import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An issuer whose every answer the test decides; it only speaks HTTP. For a real one see scripts/stack/oidc. */
export interface StaticIssuer {
  readonly url: string;
  /** Paths asked for, in order. */
  readonly requests: readonly string[];
  /** Replaces what a path answers. */
  answer(path: string, answer: (res: ServerResponse) => unknown): void;
  readonly stop: () => Promise<void>;
}

export const DISCOVERY = '/.well-known/openid-configuration';

export const jsonAnswer =
  (body: unknown) =>
  (res: ServerResponse): void =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

export const startStaticIssuer = async (keys: readonly object[] = []): Promise<StaticIssuer> => {
  const requests: string[] = [];
  const answers = new Map<string, (res: ServerResponse) => unknown>();
  const server = createServer((req, res) => {
    requests.push(req.url ?? '');
    (answers.get(req.url ?? '') ?? (() => res.writeHead(404).end()))(res);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  answers.set(DISCOVERY, jsonAnswer({ issuer: url, jwks_uri: `${url}/jwks` }));
  answers.set('/jwks', jsonAnswer({ keys }));
  return {
    url,
    requests,
    answer: (path, answer) => void answers.set(path, answer),
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
};

const part = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A JWS with exactly the header and payload given (objects, or raw JSON text), signed by `signer`. */
export const forge = (
  header: object | string,
  payload: object | string,
  signer: (input: Buffer) => Buffer | string,
): string => {
  const input = `${part(header)}.${part(payload)}`;
  const signature = signer(Buffer.from(input));
  return `${input}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`;
};

export const rs256 =
  (key: KeyObject) =>
  (input: Buffer): Buffer =>
    signBytes('sha256', input, key);

export const es256 =
  (key: KeyObject) =>
  (input: Buffer): Buffer =>
    signBytes('sha256', input, { key, dsaEncoding: 'ieee-p1363' });

export const hmac =
  (hash: 'sha256' | 'sha384' | 'sha512', key: Buffer | string) =>
  (input: Buffer): Buffer =>
    createHmac(hash, key).update(input).digest();

/** An RSA or P-256 key pair with its public JWK. */
export const keyPair = (kind: 'rsa' | 'ec', kid: string) => {
  const { privateKey, publicKey } =
    kind === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const alg = kind === 'rsa' ? 'RS256' : 'ES256';
  return { privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
};
