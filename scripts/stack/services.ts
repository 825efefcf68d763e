import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildSpec } from './child.js';

/** One of our own processes: an entry point of dist/ and the address that tells when it can work. */
export interface Service extends ChildSpec {
  readonly readyUrl?: string;
}

export interface ServiceInputs {
  readonly distDir: string;
  readonly svcPort: number;
  readonly vendingPort: number;
  /** The environment of all services. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const node = (distDir: string, entry: string) => ({
  command: process.execPath,
  args: ['--enable-source-maps', join(distDir, entry)],
});

/** The processes of the product, those that use the others last. */
export const servicesOf = ({ distDir, svcPort, vendingPort, env }: ServiceInputs): readonly Service[] =>
  [
    { label: 'workers', title: 'workers', ...node(distDir, 'workers/main.js'), env },
    {
      label: 'broker',
      title: 'broker gateway',
      ...node(distDir, 'api/broker/main.js'),
      env,
      readyUrl: `http://127.0.0.1:${svcPort}/readyz`,
    },
    {
      label: 'vending',
      title: 'vending gateway',
      ...node(distDir, 'api/vending/main.js'),
      env,
      readyUrl: `http://127.0.0.1:${vendingPort}/readyz`,
    },
  ].filter(({ args }) => existsSync(args[1] ?? ''));
