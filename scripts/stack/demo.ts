import { playNode } from './demo/node.js';
import { playSubscription } from './demo/subscription.js';
import type { Stack } from './stack.js';

/** Plays what happens at a site, against the running stack: a node comes up, a subscription arrives. */
export const playDemo = async (stack: Stack, print: (line: string) => void): Promise<void> => {
  const tell = (line: string): void => print(`demo     ${line}`);
  const has = (label: string) => stack.services.some((service) => service.label === label);
  if (has('broker')) await playNode(stack.env, tell);
  if (has('vending')) await playSubscription(stack.env, tell);
  tell('the end; everything goes on running, Ctrl-C stops it');
};
