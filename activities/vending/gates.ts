import type { GateOutcome } from '../../domain/vending/plan.js';

/** Judges whether a run may begin. Throws `unavailable` when there is no verdict yet. */
export interface Gate {
  readonly name: string;
  readonly check: (ticket: string) => Promise<GateOutcome>;
}

/** Asks the gates in order; the first refusal is the answer. Each call stands alone: nothing is kept between runs. */
export const passGates = async (gates: readonly Gate[], ticket: string): Promise<GateOutcome> => {
  const notes: string[] = [];
  for (const gate of gates) {
    const outcome = await gate.check(ticket);
    if (!outcome.passed) return outcome;
    if (outcome.note !== undefined) notes.push(outcome.note);
  }
  return { passed: true, note: notes.length === 0 ? undefined : notes.join('; ') };
};
