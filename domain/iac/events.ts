import { z } from 'zod';

/** An engine event: a number unique in its update, a time, and one member that names what it is. */
export const engineEvent = z.looseObject({
  sequence: z.int().min(0).max(2_147_483_647),
  timestamp: z.number().optional(),
  summaryEvent: z
    .looseObject({ resourceChanges: z.record(z.string().max(100), z.int()).nullish() })
    .nullish(),
});
export type EngineEvent = z.infer<typeof engineEvent>;

/** Operations counted by the summary event of a run, e.g. `{create: 2, same: 1}`; from the last one that has them. */
export const resourceChanges = (
  events: readonly EngineEvent[],
): Readonly<Record<string, number>> | undefined =>
  events.findLast((event) => event.summaryEvent?.resourceChanges)?.summaryEvent?.resourceChanges ?? undefined;

const EVENT_KIND = /Event$/;

/** Kind and URN by which a caller may filter. */
export const describeEvent = (
  event: EngineEvent,
): { readonly type: string; readonly urn: string | undefined } => {
  const type = Object.keys(event).find((key) => EVENT_KIND.test(key)) ?? '';
  const body = event[type] as { metadata?: { urn?: unknown }; urn?: unknown } | null | undefined;
  const urn = body?.metadata?.urn ?? body?.urn;
  return { type, urn: typeof urn === 'string' ? urn : undefined };
};
