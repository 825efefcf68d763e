import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { deleteJournal, readJournal } from '../../db/iac/journal.js';
import type { JournalEntry, Manifest } from '../../domain/iac/journal.js';
import { foldJournal } from '../../domain/iac/journal.js';
import { inSlices } from './slices.js';
import type { NewState } from './state-store.js';
import { loadState, printedState } from './state-store.js';

const PAGE = 1000;

/** The state after an update's journal, and the journal's end; `undefined` when nothing was written to it. */
export const foldUpdate = async (
  trx: Knex,
  updateId: string,
  baseStateId: string | null,
  manifest: Manifest,
): Promise<NewState | undefined> => {
  const entries = await readEntries(trx, updateId);
  if (entries.length === 0) return undefined;
  const base = await loadState(trx, baseStateId);
  const folded = await inSlices(foldJournal(base, entries, manifest));
  await deleteJournal(trx, updateId);
  return printedState(folded);
};

/** Entries were checked when they came in. */
const readEntries = async (trx: Knex, updateId: string): Promise<readonly JournalEntry[]> => {
  const entries: JournalEntry[] = [];
  for (let after = 0; ;) {
    const page = await readJournal(trx, updateId, after, PAGE);
    await inSlices(parseEntries(page, entries));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return entries;
    after = last.number;
  }
};

function* parseEntries(
  page: readonly { text: string }[],
  into: JournalEntry[],
): Generator<undefined, void, undefined> {
  for (const { text } of page) {
    into.push(JSON.parse(text) as JournalEntry);
    yield;
  }
}

/** The CLI refuses a state whose magic is not the SHA-256 of its version. */
export const manifestOf = (cliVersion: string, now: Date): Manifest => ({
  time: now.toISOString(),
  magic: cliVersion === '' ? '' : createHash('sha256').update(cliVersion).digest('hex'),
  version: cliVersion,
});
