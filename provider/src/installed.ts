import type * as Handlers from './handlers.js';

/**
 * The handlers of the installed package. Resources travel in the state with the text of their provider, so that text
 * says no more than where the code is: a newer version of the package serves the resources of an older one.
 */
export const handlers = (): typeof Handlers =>
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- evaluated by the tool's plugin host, which is CommonJS
  require('@keystead/provider/dist/handlers.js') as typeof Handlers;
