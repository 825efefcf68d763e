import { setTimeout as pause } from 'node:timers/promises';
import { createApprovalHandler } from './approval-handler.js';
import { createClient } from './client.js';
import { createMachineHandler } from './machine-handler.js';
import { createMachines } from './machines.js';

/** What the resources' providers call; one set a process, which the tool starts for one run. */
const machines = createMachines(createClient());

export const machine = createMachineHandler(machines, new Set());
export const approval = createApprovalHandler({
  machines,
  wait: (ms) => pause(ms),
  elapsed: () => performance.now(),
  approved: new Set(),
});
