import { setTimeout as sleep } from 'node:timers/promises';
import { fallbackJobId } from '../activities/vending/process-job.js';
import type { ProcessJob } from '../activities/vending/process-job.js';
import type { MessageQueue, ReceivedMessage } from '../activities/adapters/queue.js';
import type { Logger } from '../domain/logger.js';
import { decodeJob } from '../domain/vending/job.js';
import type { ProvisioningJob } from '../domain/vending/job.js';

const MAX_IN_HAND = 64;
const MAX_RECEIVE = 32;
const IDLE_MS = 1_000;

interface ConsumerDeps {
  readonly queue: MessageQueue;
  readonly deadLetterQueue: MessageQueue;
  readonly processJob: ProcessJob;
  readonly visibilitySeconds: number;
  readonly log: Logger;
}

export interface Consumer {
  /** Takes no more messages; those in hand reappear in the queue, and join the runs that they started. */
  readonly stop: () => Promise<void>;
}

/** Reads the provisioning queue: a message is removed when its job is done or given up, and reappears otherwise. */
export const startConsumer = (deps: ConsumerDeps): Consumer => {
  const { queue, visibilitySeconds, log } = deps;
  const stopping = new AbortController();
  const inHand = new Set<Promise<void>>();
  const take = async (): Promise<number> => {
    const messages = await queue.receive(Math.min(MAX_RECEIVE, MAX_IN_HAND - inHand.size), visibilitySeconds);
    for (const message of messages) {
      const work = handle(deps, message).finally(() => inHand.delete(work));
      inHand.add(work);
    }
    return messages.length;
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        if (inHand.size >= MAX_IN_HAND) await Promise.race([...inHand, idle(stopping.signal)]);
        else if ((await take()) === 0) await idle(stopping.signal);
      } catch (error) {
        log.warn({ err: error }, 'queue not read, trying again');
        await idle(stopping.signal);
      }
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};

const idle = async (signal: AbortSignal): Promise<void> => {
  await sleep(IDLE_MS, undefined, { signal }).catch(() => undefined);
};

const handle = async (deps: ConsumerDeps, message: ReceivedMessage): Promise<void> => {
  const { queue, log } = deps;
  const held = { message };
  const keep = setInterval(() => void extend(deps, held), (deps.visibilitySeconds * 1000) / 2).unref();
  try {
    if (await isDone(deps, message)) await queue.remove(held.message);
  } catch (error) {
    log.warn({ err: error, messageId: message.id }, 'job left in the queue');
  } finally {
    clearInterval(keep);
  }
};

/** The message stays ours while its run goes on. */
const extend = async (
  { queue, visibilitySeconds, log }: ConsumerDeps,
  held: { message: ReceivedMessage },
) => {
  try {
    held.message = await queue.extend(held.message, visibilitySeconds);
  } catch (error) {
    log.debug({ err: error }, 'message not extended');
  }
};

const isDone = async (
  { processJob, deadLetterQueue, log }: ConsumerDeps,
  { id, text, deliveryCount }: ReceivedMessage,
): Promise<boolean> => {
  const job = readJob(text);
  if (job === undefined) {
    await deadLetterQueue.send(text);
    log.warn({ messageId: id }, 'a message that is no job went to the dead-letter queue');
    return true;
  }
  const outcome = await processJob(job, deliveryCount);
  log.info({ jobId: job.jobId, subscriptionId: job.subscriptionId, outcome: outcome.kind }, 'job processed');
  return outcome.kind === 'ok' || outcome.kind === 'dead_lettered';
};

const readJob = (text: string): ProvisioningJob | undefined => {
  try {
    return decodeJob(text, fallbackJobId(text));
  } catch {
    return undefined;
  }
};
