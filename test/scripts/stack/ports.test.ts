import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, requireFreePorts } from '../../../scripts/stack/ports.js';

describe('ports', () => {
  let holder: Server;
  let taken: number;
  beforeAll(async () => {
    holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    taken = (holder.address() as AddressInfo).port;
  });
  afterAll(() => {
    holder.close();
  });

  it('names the variable of every port in use', async () => {
    await expect(requireFreePorts({ SVC_PORT: taken, PGPORT: await freePort(0) })).rejects.toThrow(
      `port ${taken} is in use: set SVC_PORT to a free one`,
    );
  });

  it('refuses one port for two services', async () => {
    const port = await freePort(0);
    await expect(requireFreePorts({ SVC_PORT: port, VENDING_PORT: port })).rejects.toThrow(
      `SVC_PORT and VENDING_PORT are both ${port}`,
    );
  });

  it('finds another port when the wanted one is taken', async () => {
    const port = await freePort(0);
    expect(await freePort(port)).toBe(port);
    expect(await freePort(taken)).not.toBe(taken);
  });
});
