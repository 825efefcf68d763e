export { approvalWindow } from './approval-window.js';
export { buildImage } from './build-image.js';
export { revokeAndWipe } from './revoke-and-wipe.js';
