import type { Knex } from 'knex';
import { appendLogPiece, lastLogPiece } from '../../../db/iac/deployment-logs.js';
import { maskText } from '../../../domain/iac/deployments/log-mask.js';

const FLUSH_MS = 300;
/** A line that never ends is cut into pieces of this many characters. */
const MAX_LINE = 65_536;

export interface LogWriter {
  /** Output as it comes, in any cuts. */
  readonly write: (text: string) => void;
  /** A line of the service's own. */
  readonly say: (line: string) => void;
  /** Writes what is left; rejects when a piece could not be stored. */
  readonly close: () => Promise<void>;
}

interface LogWriterOptions {
  readonly db: Knex;
  readonly deploymentId: string;
  readonly masked: readonly string[];
  readonly maxBytes: number;
}

/**
 * Stores a log in order while it comes, masked line by line: a reader sees a line within a second. Beyond `maxBytes` it is cut
 * with a notice.
 */
export const openLog = async ({
  db,
  deploymentId,
  masked,
  maxBytes,
}: LogWriterOptions): Promise<LogWriter> => {
  let next = (await lastLogPiece(db, deploymentId)) + 1;
  let open = '';
  let lines = '';
  let bytes = 0;
  let isCut = false;
  let failure: unknown;
  let stored = Promise.resolve();
  const overlap = Math.max(0, ...masked.map(({ length }) => length - 1));

  const store = (): void => {
    if (lines === '') return;
    const text = lines;
    const number = next++;
    lines = '';
    stored = stored
      .then(() => appendLogPiece(db, deploymentId, number, text))
      .catch((error: unknown) => {
        failure ??= error;
      });
  };
  const add = (raw: string): void => {
    if (isCut) return;
    const text = maskText(raw.replaceAll('\0', ''), masked);
    bytes += Buffer.byteLength(text);
    if (bytes > maxBytes) {
      isCut = true;
      lines += `[the log is cut here: it has more than ${Math.floor(maxBytes / 1_048_576)} MB]\n`;
    } else lines += text;
    if (lines.length > MAX_LINE) store();
  };
  const write = (output: string): void => {
    open += output;
    const end = open.lastIndexOf('\n') + 1;
    if (end > 0) add(open.slice(0, end));
    open = open.slice(end);
    if (open.length > MAX_LINE + overlap) {
      const text = maskText(open, masked);
      const cut = Math.max(0, text.length - overlap);
      add(`${text.slice(0, cut)}\n`);
      open = text.slice(cut);
    }
  };
  const timer = setInterval(store, FLUSH_MS);
  return {
    write,
    say: (line) => write(`${open === '' ? '' : '\n'}${line}\n`),
    close: async () => {
      clearInterval(timer);
      if (open !== '') add(`${open}\n`);
      open = '';
      store();
      await stored;
      if (failure !== undefined) throw failure as Error;
    },
  };
};
