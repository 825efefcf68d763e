import type Router from '@koa/router';
import { fromBase64 } from '../../../domain/iac/ciphertext.js';
import type { RequestState } from '../../http/state.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { nameIn, readJson, STACK } from '../context.js';
import {
  BatchDecryptRequest,
  BatchEncryptRequest,
  DecryptRequest,
  EncryptRequest,
} from '../schemas/requests.js';

export const secretRoutes = (
  router: Router<RequestState>,
  { operator }: Auth,
  { useCases }: IacRouteDeps,
): void => {
  const { secrets } = useCases;

  router.post(
    `${STACK}/encrypt`,
    operator(async (ctx) => {
      const { plaintext } = await readJson(useCases, ctx, EncryptRequest);
      const [ciphertext] = await secrets.encrypt(nameIn(ctx), [fromBase64(plaintext, 'plaintext')]);
      ctx.body = { ciphertext };
    }),
  );

  router.post(
    `${STACK}/decrypt`,
    operator(async (ctx) => {
      const { ciphertext } = await readJson(useCases, ctx, DecryptRequest);
      const [plaintext] = await secrets.decrypt(nameIn(ctx), [ciphertext]);
      ctx.body = { plaintext: plaintext?.toString('base64') };
    }),
  );

  router.post(
    `${STACK}/batch-encrypt`,
    operator(async (ctx) => {
      const { plaintexts } = await readJson(useCases, ctx, BatchEncryptRequest);
      const values = plaintexts.map((plaintext) => fromBase64(plaintext, 'each plaintext'));
      ctx.body = { ciphertexts: await secrets.encrypt(nameIn(ctx), values) };
    }),
  );

  router.post(
    `${STACK}/batch-decrypt`,
    operator(async (ctx) => {
      const { ciphertexts } = await readJson(useCases, ctx, BatchDecryptRequest);
      const distinct = [...new Set(ciphertexts)];
      const plaintexts = await secrets.decrypt(nameIn(ctx), distinct);
      ctx.body = {
        plaintexts: Object.fromEntries(
          distinct.map((ciphertext, at) => [ciphertext, plaintexts[at]?.toString('base64')]),
        ),
      };
    }),
  );

  router.post(
    `${STACK}/rotate-key`,
    operator(async (ctx) => {
      ctx.body = { keyVersion: await secrets.rotateKey(nameIn(ctx)) };
    }),
  );

  /** The CLI tells that a secret was shown; the request log has it. */
  router.post(
    [`${STACK}/decrypt/log-decryption`, `${STACK}/decrypt/log-batch-decryption`],
    operator((ctx) => {
      ctx.state.logFields = { ...ctx.state.logFields, secretsShown: true };
      ctx.status = 204;
    }),
  );
};
