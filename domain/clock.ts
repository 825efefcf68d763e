/** Where a use case reads the time; tests give their own. */
export interface Clock {
  /** Now, as milliseconds since the Unix epoch. */
  readonly now: () => Date;
}

export const systemClock: Clock = { now: () => new Date() };
