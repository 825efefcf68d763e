/** What is sealed under the service key, in the order in which `rewrap` goes through it. */
export const rewrapKinds = ['machine', 'shared', 'webhook'] as const;
export type RewrapKind = (typeof rewrapKinds)[number];

/** Sealed values under an older key, and how far a rewrap has come. */
export interface RewrapProgress {
  readonly state: 'idle' | 'running';
  /** Values sealed under the current key by this run. */
  readonly rewrapped: number;
  /** Values that no configured key opens; they stay as they are. */
  readonly failed: number;
  /** Values still under another key than the current one. */
  readonly remaining: number;
}

/** One batch of a rewrap; `last` is the row to go on after, null when the kind is done. */
export interface RewrapBatch {
  readonly rewrapped: number;
  readonly failed: number;
  readonly last: string | null;
}
