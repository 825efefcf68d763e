/** Entries of the local cloud's collections. */
export interface LocalSubscription {
  readonly id: string;
  readonly displayName: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Writes of roles, policies and budgets are refused before this time (milliseconds since the epoch). */
  readonly writableAt: number;
  readonly group: string;
}

export interface LocalTicket {
  readonly sys_id: string;
  readonly number: string;
  readonly table: string;
  readonly state: string;
  readonly approval: string;
  readonly short_description: string;
  readonly work_notes: readonly string[];
}

/** The next `times` calls that match are answered like this. */
export interface LocalFault {
  readonly id: string;
  readonly method: string;
  /** Part of the path and query. */
  readonly path: string;
  readonly times: number;
  /** 0: the connection is cut. */
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds?: number;
  readonly delayMs?: number;
}

/** An error of the management API, in its own words. */
export class ArmFault extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
