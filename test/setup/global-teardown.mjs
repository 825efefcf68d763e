import { rm } from 'node:fs/promises';

export default async () => {
  const { dir, postgres } = globalThis.__keystead;
  await postgres?.stop();
  await rm(dir, { recursive: true, force: true });
};
