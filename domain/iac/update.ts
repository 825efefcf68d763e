import { AppError } from '../errors.js';
import type { Json } from './json.js';

/** Kinds that a caller can start; imports and renames are made by their own calls. */
export const programKinds = ['update', 'preview', 'refresh', 'destroy'] as const;
export type ProgramKind = (typeof programKinds)[number];
export type UpdateKind = ProgramKind | 'import' | 'rename';

export type UpdateStatus = 'not started' | 'running' | 'succeeded' | 'failed' | 'cancelled';
export const finalStatuses = ['succeeded', 'failed', 'cancelled'] as const;
export type FinalStatus = (typeof finalStatuses)[number];

export const isFinal = (status: UpdateStatus): status is FinalStatus =>
  (finalStatuses as readonly string[]).includes(status);

/** The CLI takes five minutes for granted, whatever it is told; a shorter lease would break updates. */
export const LEASE_SECONDS = 300;

export interface Update {
  readonly id: string;
  readonly stackId: string;
  readonly kind: UpdateKind;
  /** A dry run takes no lock, has no version and writes no state. */
  readonly dryRun: boolean;
  readonly status: UpdateStatus;
  readonly version: number | null;
  readonly author: string;
  readonly cliVersion: string;
  readonly message: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, Json>>;
  readonly journalVersion: number;
  /** Number of the last verbatim or delta checkpoint; 0 = none yet. */
  readonly checkpointSequence: number;
  readonly checkpointHash: string | null;
  /** ISO 8601, as all times here. */
  readonly leaseExpiresAt: string | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly resourceChanges: Readonly<Record<string, number>> | null;
  readonly resourceCount: number | null;
}

export const leaseEnd = (now: Date, seconds: number = LEASE_SECONDS): Date =>
  new Date(now.getTime() + Math.min(Math.max(seconds, 1), LEASE_SECONDS) * 1000);

export const hasLapsed = (update: Pick<Update, 'leaseExpiresAt'>, now: Date): boolean =>
  update.leaseExpiresAt !== null && Date.parse(update.leaseExpiresAt) <= now.getTime();

/** Why a second change must wait: who runs what, since when, and when the stack is free at the latest. */
export const conflictWith = (running: Update): AppError => {
  const since = running.startedAt ?? running.createdAt;
  const until = running.leaseExpiresAt ?? since;
  return new AppError(
    'conflict',
    `Another update is currently in progress: ${running.kind} by ${running.author}, started ${instant(since)}, ` +
      `its lease ends ${instant(until)} unless renewed. Wait for it, or run cancel.`,
    { code: 'update_in_progress' },
  );
};

/** Whole seconds, UTC. */
const instant = (time: string): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** Refuses a write of an update that has ended or whose lease was lost. `forbidden` makes the CLI stop its renewals. */
export const checkWritable = (update: Update, now: Date): void => {
  if (update.dryRun) throw new AppError('malformed', 'a dry run writes no state');
  if (update.status !== 'running') {
    throw new AppError('forbidden', `this update is not running any more: it is ${update.status}`, {
      code: 'update_ended',
    });
  }
  if (hasLapsed(update, now)) {
    throw new AppError('forbidden', 'the lease of this update has ended', { code: 'lease_lapsed' });
  }
};

/** Whether an update may end as asked now: `done` for a repeated call. Throws `forbidden` when it ended otherwise. */
export const completion = (update: Update, status: FinalStatus): 'end' | 'done' => {
  if (update.status === status) return 'done';
  if (update.status === 'running') return 'end';
  throw new AppError('forbidden', `this update is ${update.status}, it cannot become ${status}`, {
    code: 'update_ended',
  });
};
