import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Knex } from 'knex';
import { readChain } from '../../db/broker/audit.js';
import type { ChainVerdict, KnownHead } from '../../domain/broker/audit.js';
import { createChainCheck } from '../../domain/broker/audit.js';

const sha256Hex = (text: string): string => hash('sha256', text, 'hex');

/** Verifies the whole chain, streamed; other requests are served between the batches. */
export const verifyAudit = async (db: Knex, known?: KnownHead): Promise<ChainVerdict> => {
  const check = createChainCheck(sha256Hex, known);
  for await (const batch of readChain(db)) {
    for (const row of batch) check.add(row);
    await setImmediate();
  }
  return check.verdict();
};
