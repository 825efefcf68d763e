import type Router from '@koa/router';
import type { z } from 'zod';
import type { NumberedText } from '../../../db/iac/journal.js';
import { AppError } from '../../../domain/errors.js';
import { textEdits } from '../../../domain/iac/delta.js';
import { engineEvent } from '../../../domain/iac/events.js';
import { journalEntry } from '../../../domain/iac/journal.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { updatePaths } from '../context.js';
import { checkpointHash, checkpointVersion, featureList, sequenceNumber } from '../schemas/requests.js';

const MAX_ENTRIES = 1_000;
const nothing = new TextEncoder().encode('null');
const emptyList = new TextEncoder().encode('[]');
const utf8 = new TextDecoder();

/** What a running update sends: journal entries, whole states, deltas and events; state keeps the bytes that were sent. */
export const writeRoutes = (
  router: Router<RequestState>,
  { updateToken }: Auth,
  { useCases }: IacRouteDeps,
): void => {
  const { bodies, checkpoints, journal } = useCases;

  const bodyMembers = async (ctx: Ctx) => {
    const members = await bodies.members(await bodies.read(ctx.req));
    return {
      raw: (name: string): Uint8Array | undefined => members.get(name),
      parsed: async <T>(name: string, schema: z.ZodType<T>): Promise<T> =>
        validate(schema, await bodies.json(members.get(name) ?? nothing)),
    };
  };

  /** Each item of a list: parsed and checked, and its text as sent. */
  const listed = async <T>(text: Uint8Array | undefined, schema: z.ZodType<T>) => {
    const items = await bodies.items(text ?? emptyList, MAX_ENTRIES);
    const values: T[] = [];
    for (const item of items) values.push(validate(schema, await bodies.json(item)));
    return { values, texts: items.map((item) => utf8.decode(item)) };
  };
  const numbered = (texts: readonly string[], numbers: readonly number[]): readonly NumberedText[] =>
    texts.map((text, at) => ({ text, number: numbers[at] ?? 0 }));

  router.patch(
    updatePaths('/journalentries'),
    updateToken(async (ctx, update) => {
      const { raw } = await bodyMembers(ctx);
      const { values, texts } = await listed(raw('entries'), journalEntry);
      await journal.append(
        update.id,
        numbered(
          texts,
          values.map(({ sequenceID }) => sequenceID),
        ),
      );
      ctx.status = 204;
    }),
  );

  router.post(
    updatePaths('/events/batch'),
    updateToken(async (ctx, update) => {
      const { raw } = await bodyMembers(ctx);
      const { values, texts } = await listed(raw('events'), engineEvent);
      await journal.addEvents(
        update.id,
        values,
        numbered(
          texts,
          values.map(({ sequence }) => sequence),
        ),
      );
      ctx.status = 204;
    }),
  );

  router.patch(
    updatePaths('/checkpoint'),
    updateToken(async (ctx, update) => {
      const { raw, parsed } = await bodyMembers(ctx);
      const deployment = raw('deployment');
      if (deployment === undefined) throw new AppError('malformed', '`deployment` is missing');
      const version = await parsed('version', checkpointVersion);
      const features = await parsed('features', featureList);
      const head = JSON.stringify({ version, ...(features?.length ? { features } : {}) }).slice(0, -1);
      const text = Buffer.concat([Buffer.from(`${head},"deployment":`), deployment, Buffer.from('}')]);
      await checkpoints.save(update.stackId, update.id, text);
      ctx.status = 204;
    }),
  );

  router.patch(
    updatePaths('/checkpointverbatim'),
    updateToken(async (ctx, update) => {
      const { raw, parsed } = await bodyMembers(ctx);
      const text = raw('untypedDeployment');
      if (text === undefined) throw new AppError('malformed', '`untypedDeployment` is missing');
      const sequence = await parsed('sequenceNumber', sequenceNumber);
      await checkpoints.saveVerbatim(update.stackId, update.id, sequence, text);
      ctx.status = 204;
    }),
  );

  router.patch(
    updatePaths('/checkpointdelta'),
    updateToken(async (ctx, update) => {
      const { parsed } = await bodyMembers(ctx);
      await checkpoints.saveDelta(update.stackId, update.id, {
        checkpointHash: await parsed('checkpointHash', checkpointHash),
        sequenceNumber: await parsed('sequenceNumber', sequenceNumber),
        edits: await parsed('deploymentDelta', textEdits),
      });
      ctx.status = 204;
    }),
  );
};
