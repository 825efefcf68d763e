export { provisionSubscription } from './provision-subscription.js';
