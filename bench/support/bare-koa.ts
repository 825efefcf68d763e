/** The least that an HTTP service on our libraries does: one JSON route. Port by BARE_PORT. */
import Router from '@koa/router';
import Koa from 'koa';

const app = new Koa();
const router = new Router();
router.get('/json', (ctx) => {
  ctx.body = { status: 'ok' };
});
app.use(router.routes());
app.listen(Number(process.env['BARE_PORT']), '127.0.0.1', () => process.stdout.write('listening\n'));
