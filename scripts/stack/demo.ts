import type { Stack } from './stack.js';

/** The story of design.md section 6, against the running stack. */
export const playDemo = async (stack: Stack, print: (line: string) => void): Promise<void> => {
  await Promise.resolve();
  print(`The story is not written yet (${stack.dataDir}).`);
};
