import type { BenchCase } from '../support/case.js';

/** The yardstick of every run. */
export const bareKoa: BenchCase = {
  name: 'bare/koa',
  run: async (world) => {
    const port = await world.port();
    const server = await world.start('bench/support/bare-koa.js', {
      env: { BARE_PORT: String(port), NODE_ENV: 'production' },
      readyText: 'listening',
    });
    const measured = await world.drive('bare Koa', { process: server, url: `http://127.0.0.1:${port}/json` });
    await server.stop();
    return [measured];
  },
};
