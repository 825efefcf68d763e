import type { Clock } from '../../domain/clock.js';
import {
  NONCE_LIFETIME_MS,
  NONCE_MEMORY_MS,
  refusedNonce,
  shareOfOneSource,
  tooManyNonces,
} from '../../domain/broker/nonce.js';
import { drawNonce, nonceIdOf, SOURCE_RETRY_SECONDS } from './nonces.js';
import type { IssuedNonce } from '../../domain/broker/nonce.js';
import type { NonceStore } from './nonces.js';

interface Entry {
  readonly nonceId: string;
  readonly source: string | undefined;
  readonly lapsesAt: number;
  /** The bytes while the nonce is outstanding. */
  nonce: Buffer | undefined;
  used: boolean;
}

/** Spent nonces that are remembered, in multiples of the capacity; beyond it the oldest become unknown. */
const REMEMBERED_CAPACITIES = 32;

/**
 * Nonces of one process. Issue, redeem and expiry are O(1): all nonces live equally long, so one queue in the order
 * of issue has two heads, one behind which nonces have lapsed and one behind which they are forgotten.
 */
export const createMemoryNonces = (options: { capacity: number; clock: Clock }): NonceStore => {
  const share = shareOfOneSource(options.capacity);
  const elapsed = neverBackwards(options.clock);
  const byId = new Map<string, Entry>();
  const heldBySource = new Map<string, number>();
  const lapsing = createQueue<Entry>();
  const forgetting = createQueue<Entry>();
  let outstanding = 0;

  const release = (entry: Entry): void => {
    entry.nonce = undefined;
    outstanding -= 1;
    if (entry.source === undefined) return;
    const held = (heldBySource.get(entry.source) ?? 0) - 1;
    if (held > 0) heldBySource.set(entry.source, held);
    else heldBySource.delete(entry.source);
  };
  const sweep = (now: number): void => {
    for (let entry = lapsing.peek(); entry !== undefined && entry.lapsesAt <= now; entry = lapsing.peek()) {
      lapsing.drop();
      if (entry.nonce !== undefined) release(entry);
    }
    for (
      let entry = forgetting.peek();
      entry !== undefined && entry.lapsesAt + NONCE_MEMORY_MS <= now;
      entry = forgetting.peek()
    )
      forget(entry);
  };
  const forget = (entry: Entry): void => {
    forgetting.drop();
    byId.delete(entry.nonceId);
    if (entry.nonce !== undefined) release(entry);
  };
  const admit = (source: string | undefined, now: number): void => {
    if (outstanding >= options.capacity) {
      const oldest = lapsing.peek()?.lapsesAt ?? now;
      throw tooManyNonces('all', Math.max(1, Math.ceil((oldest - now) / 1000)));
    }
    if (source === undefined) return;
    const held = heldBySource.get(source) ?? 0;
    if (held >= share) throw tooManyNonces('source', SOURCE_RETRY_SECONDS);
    heldBySource.set(source, held + 1);
  };
  const issue = (source: string | undefined): IssuedNonce => {
    const now = elapsed();
    sweep(now);
    admit(source, now);
    const nonce = drawNonce();
    const entry = {
      nonceId: nonceIdOf(nonce),
      source,
      lapsesAt: now + NONCE_LIFETIME_MS,
      nonce,
      used: false,
    };
    outstanding += 1;
    byId.set(entry.nonceId, entry);
    lapsing.add(entry);
    forgetting.add(entry);
    const oldest = forgetting.peek();
    if (byId.size > options.capacity * REMEMBERED_CAPACITIES && oldest !== undefined) forget(oldest);
    return {
      nonceId: entry.nonceId,
      nonce,
      expiresAt: new Date(options.clock.now().getTime() + NONCE_LIFETIME_MS),
    };
  };
  const redeem = (nonceId: string): Buffer => {
    sweep(elapsed());
    const entry = byId.get(nonceId);
    if (entry === undefined) throw refusedNonce('unknown');
    const { nonce } = entry;
    if (nonce === undefined) throw refusedNonce(entry.used ? 'used' : 'expired');
    entry.used = true;
    release(entry);
    return nonce;
  };
  // async: what these throw becomes a rejection, as with the other store
  return {
    issue: async (source) => Promise.resolve(issue(source)),
    redeem: async (nonceId) => Promise.resolve(redeem(nonceId)),
    outstanding: () => {
      sweep(elapsed());
      return Promise.resolve(outstanding);
    },
  };
};

/** Milliseconds by the clock without its steps back, so that setting the clock cannot keep nonces alive. */
const neverBackwards = (clock: Clock): (() => number) => {
  let last = clock.now().getTime();
  let stepsBack = 0;
  return () => {
    const now = clock.now().getTime();
    if (now < last) stepsBack += last - now;
    last = now;
    return now + stepsBack;
  };
};

interface Queue<T> {
  add(item: T): void;
  peek(): T | undefined;
  drop(): void;
}

/** First in, first out; each operation amortised O(1). */
const createQueue = <T>(): Queue<T> => {
  let items: T[] = [];
  let head = 0;
  return {
    add: (item) => items.push(item),
    peek: () => items[head],
    drop: () => {
      head += 1;
      if (head < 1024 || head * 2 < items.length) return;
      items = items.slice(head);
      head = 0;
    },
  };
};
