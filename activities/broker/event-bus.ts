import type { NodeEvent, NodeEventName } from '../../domain/broker/events.js';
import type { Logger } from '../../domain/logger.js';

const HANDLER_MS = 10_000;

export type NodeEventHandler = (event: NodeEvent) => Promise<void> | void;

export interface EventBus {
  /** Subscribes to some events, or to all (`*`); returns the way to unsubscribe. */
  readonly subscribe: (
    events: readonly NodeEventName[] | '*',
    handler: NodeEventHandler,
    name: string,
  ) => () => void;
  /** Runs the handlers concurrently and returns at once; what they do never reaches the emitter. */
  readonly emit: (event: NodeEvent) => void;
  /** Waits for the handlers that still run; later events are dropped with a warning. */
  readonly close: () => Promise<void>;
}

/** The internal event bus: fire and forget, ten seconds a handler, failures are logged only. */
export const createEventBus = (log: Logger, handlerMs = HANDLER_MS): EventBus => {
  interface Subscription {
    readonly events: ReadonlySet<NodeEventName> | '*';
    readonly handler: NodeEventHandler;
    readonly name: string;
  }
  const subscriptions = new Set<Subscription>();
  const running = new Set<Promise<void>>();
  let closed = false;

  const run = async ({ handler, name }: Subscription, event: NodeEvent): Promise<void> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`handler took more than ${handlerMs} ms`));
      }, handlerMs);
    });
    try {
      await Promise.race([Promise.resolve().then(() => handler(event)), late]);
    } catch (error) {
      log.error({ err: error, handler: name, event: event.event }, 'event handler failed');
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    subscribe: (events, handler, name) => {
      const subscription = { events: events === '*' ? events : new Set(events), handler, name };
      subscriptions.add(subscription);
      return () => subscriptions.delete(subscription);
    },
    emit: (event) => {
      if (closed) {
        log.warn({ event: event.event }, 'event dropped: the bus is closed');
        return;
      }
      for (const subscription of subscriptions) {
        if (subscription.events !== '*' && !subscription.events.has(event.event)) continue;
        const done = run(subscription, event).finally(() => running.delete(done));
        running.add(done);
      }
    },
    close: async () => {
      closed = true;
      await Promise.all(running);
    },
  };
};
