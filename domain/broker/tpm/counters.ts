/** The counters of TPMS_CLOCK_INFO as the last quote showed them. */
export interface SeenCounters {
  readonly clockMs: bigint;
  readonly resetCount: number;
  readonly restartCount: number;
}

const span = 2 ** 32;

/**
 * Compares a quote's counters with those of the one before. Keys outside the endorsement hierarchy show counters with a
 * constant added, hence differences modulo 2^32: a "rise" of more than half of that is a fall, which means that the
 * TPM was cleared or is another one.
 */
export const compareCounters = (
  before: SeenCounters | undefined,
  now: SeenCounters,
): { readonly rebooted: boolean; readonly fell: boolean } => {
  if (before === undefined) return { rebooted: false, fell: false };
  const resets = (now.resetCount - before.resetCount + span) % span;
  const sameBoot = resets === 0 && now.restartCount === before.restartCount;
  const fell = resets >= span / 2 || (sameBoot && now.clockMs < before.clockMs);
  return { rebooted: resets > 0 && !fell, fell };
};
