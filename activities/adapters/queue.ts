import { QueueServiceClient } from '@azure/storage-queue';
import type { QueueClient } from '@azure/storage-queue';
import type { TokenCredential } from '@azure/core-auth';
import type { VendingConfig } from '../../domain/config/vending.js';
import { hasStorage } from '../../domain/config/vending.js';
import { cloudCall, faultOf } from './azure/faults.js';

const NEVER_EXPIRES = -1;
const CALL_TIMEOUT_MS = 8_000;
export const MAX_PEEK = 32;

export interface ReceivedMessage {
  readonly id: string;
  readonly receipt: string;
  readonly text: string;
  readonly deliveryCount: number;
}

/** One queue of the storage service; made when it is first used. Every failure is an AppError. */
export interface MessageQueue {
  readonly name: string;
  /** Returns the id of the message. */
  readonly send: (text: string) => Promise<string>;
  /** Texts of up to 32 visible messages, without taking them. */
  readonly peek: (count: number) => Promise<readonly string[]>;
  readonly receive: (count: number, visibilitySeconds: number) => Promise<readonly ReceivedMessage[]>;
  /** Keeps a received message to ourselves for longer; returns its new receipt. */
  readonly extend: (message: ReceivedMessage, visibilitySeconds: number) => Promise<ReceivedMessage>;
  readonly remove: (message: ReceivedMessage) => Promise<void>;
  readonly approximateCount: () => Promise<number>;
  readonly clear: () => Promise<void>;
}

export interface JobQueues {
  readonly provisioning: MessageQueue;
  readonly deadLetter: MessageQueue;
}

/** Undefined when no storage is configured. */
export const connectQueues = (config: VendingConfig, identity: TokenCredential): JobQueues | undefined => {
  if (!hasStorage(config)) return undefined;
  const service = serviceClient(config, identity);
  return {
    provisioning: openQueue(service.getQueueClient(config.VENDING_PROVISIONING_QUEUE_NAME)),
    deadLetter: openQueue(service.getQueueClient(config.VENDING_PROVISIONING_DLQ_NAME)),
  };
};

const serviceClient = (config: VendingConfig, identity: TokenCredential): QueueServiceClient => {
  const options = { retryOptions: { maxTries: 2, tryTimeoutInMs: 4_000, maxRetryDelayInMs: 500 } };
  const text = config.VENDING_STORAGE_CONNECTION_STRING;
  if (text !== undefined) return QueueServiceClient.fromConnectionString(text, options);
  const host = `${config.VENDING_STORAGE_ACCOUNT_NAME}.queue.${config.VENDING_STORAGE_ENDPOINT_SUFFIX}`;
  return new QueueServiceClient(`https://${host}`, identity, options);
};

const openQueue = (client: QueueClient): MessageQueue => {
  const use = onceCreated(client);
  const receiptOf = (message: ReceivedMessage, receipt: string | undefined): ReceivedMessage => ({
    ...message,
    receipt: receipt ?? message.receipt,
  });
  return {
    name: client.name,
    send: (text) =>
      use(
        'send',
        async (call) =>
          (await client.sendMessage(text, { messageTimeToLive: NEVER_EXPIRES, ...call })).messageId,
      ),
    peek: (count) =>
      use('peek', async (call) => {
        const { peekedMessageItems } = await client.peekMessages({ numberOfMessages: count, ...call });
        return peekedMessageItems.map(({ messageText }) => messageText);
      }),
    receive: (count, visibilityTimeout) =>
      use('receive', async (call) => {
        const options = { numberOfMessages: count, visibilityTimeout, ...call };
        const { receivedMessageItems } = await client.receiveMessages(options);
        return receivedMessageItems.map((item) => ({
          id: item.messageId,
          receipt: item.popReceipt,
          text: item.messageText,
          deliveryCount: item.dequeueCount,
        }));
      }),
    extend: (message, seconds) =>
      use('extend', async (call) =>
        receiptOf(
          message,
          (await client.updateMessage(message.id, message.receipt, message.text, seconds, call)).popReceipt,
        ),
      ),
    remove: (message) =>
      use('remove', async (call) => {
        await client.deleteMessage(message.id, message.receipt, call);
      }),
    approximateCount: () =>
      use('count', async (call) => (await client.getProperties(call)).approximateMessagesCount ?? 0),
    clear: () =>
      use('clear', async (call) => {
        await client.clearMessages(call);
      }),
  };
};

type Use = <T>(what: string, work: (call: { abortSignal: AbortSignal }) => Promise<T>) => Promise<T>;

/** Runs a call; when the queue turns out to be missing, makes it and runs the call again. */
const onceCreated = (client: QueueClient): Use => {
  const run: Use = (what, work) => cloudCall(`queue ${client.name}: ${what}`, work, CALL_TIMEOUT_MS);
  return async (what, work) => {
    try {
      return await run(what, work);
    } catch (error) {
      if (faultOf(error).code !== 'QueueNotFound') throw error;
      await run('create', (call) => client.createIfNotExists(call));
      return run(what, work);
    }
  };
};
