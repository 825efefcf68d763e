import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Router from '@koa/router';
import type { RequestState } from '../http/state.js';

const require = createRequire(import.meta.url);

const SWAGGER_FILES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
};
/** The pages run scripts of this origin only; the viewers set styles on elements. */
const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'";

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body>${body}</body></html>`;

const swaggerPage = page(
  'API',
  '<link rel="stylesheet" href="/docs/swagger-ui.css"><div id="ui"></div><script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script>',
);
const redocPage = page(
  'API',
  '<redoc spec-url="/openapi.json" disable-search="false"></redoc><script src="/docs/redoc.standalone.js"></script>',
);

/** `/openapi.json`, and two viewers of it, all from this origin. */
export const openApiPages = (document: object): Router<RequestState> => {
  const router = new Router<RequestState>();
  const swaggerDir = dirname(require.resolve('swagger-ui-dist/package.json'));
  const redocDir = join(dirname(require.resolve('redoc/package.json')), 'bundles');
  const json = JSON.stringify(document);
  router.get('/openapi.json', (ctx) => {
    ctx.type = 'application/json';
    ctx.body = json;
  });
  for (const [path, html] of [
    ['/docs', swaggerPage],
    ['/redoc', redocPage],
  ] as const) {
    router.get(path, (ctx) => {
      ctx.set('Content-Security-Policy', CONTENT_POLICY);
      ctx.type = 'text/html';
      ctx.body = html;
    });
  }
  router.get('/docs/start.js', (ctx) => {
    ctx.type = 'text/javascript';
    ctx.body = "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#ui', validatorUrl: null });";
  });
  for (const [name, type] of Object.entries(SWAGGER_FILES)) {
    router.get(`/docs/${name}`, (ctx) => {
      ctx.type = type;
      ctx.body = createReadStream(join(swaggerDir, name));
    });
  }
  let redoc: string | undefined;
  router.get('/docs/redoc.standalone.js', async (ctx) => {
    redoc ??= await readFile(join(redocDir, 'redoc.standalone.js'), 'utf8');
    ctx.type = 'text/javascript';
    ctx.body = redoc;
  });
  return router;
};
