export { deployment } from './deployment.js';
export { updateLease } from './lease.js';
export { deletedStackPurge } from './purge.js';
