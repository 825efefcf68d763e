import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { History } from '../../api/cli/sre/history.js';
import { historyText, parseHistory } from '../../api/cli/sre/history.js';

export const historiesFolder = join(import.meta.dirname, 'histories');

/** Stack traces name the folders of the machine that recorded; a replay does not read them. */
export const recordedText = (history: History): string =>
  historyText(history).replaceAll(/"stackTrace": "(?:[^"\\]|\\.)*"/g, '"stackTrace": ""');

export interface RecordedHistory {
  readonly name: string;
  readonly history: History;
}

export const recordedHistories = (): readonly RecordedHistory[] =>
  readdirSync(historiesFolder)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      history: parseHistory(readFileSync(join(historiesFolder, file), 'utf8')),
    }));
