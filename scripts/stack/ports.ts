import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';

/** Takes the port for a moment (0 = any free one) and tells its number; undefined when somebody has it. */
const tryPort = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host: HOST, exclusive: true }, () => {
      const taken = (server.address() as AddressInfo).port;
      server.close(() => resolve(taken));
    });
  });

/** Throws an Error that names every port that somebody has, with the variable that changes it. */
export const requireFreePorts = async (ports: Readonly<Record<string, number>>): Promise<void> => {
  const problems: string[] = [];
  const seen = new Map<number, string>();
  for (const [variable, port] of Object.entries(ports)) {
    const twin = seen.get(port);
    seen.set(port, variable);
    if (twin !== undefined) problems.push(`${twin} and ${variable} are both ${port}: change one of them`);
    else if ((await tryPort(port)) === undefined)
      problems.push(`port ${port} is in use: set ${variable} to a free one, e.g. ${variable}=${port + 1000}`);
  }
  if (problems.length > 0) throw new Error(problems.join('\n'));
};

/** `wanted` when it is free, else any free port. */
export const freePort = async (wanted: number): Promise<number> => {
  const port = (await tryPort(wanted)) ?? (await tryPort(0));
  if (port === undefined) throw new Error('this machine has no free port');
  return port;
};
