export { MachineApproval } from './machine-approval.js';
export type { MachineApprovalArgs } from './machine-approval.js';
export { RegisteredMachine } from './registered-machine.js';
export type { ConnectionArgs, RegisteredMachineArgs } from './registered-machine.js';
