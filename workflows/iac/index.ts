export { updateLease } from './lease.js';
export { deletedStackPurge } from './purge.js';
