import { renderTable } from '../table.js';

/** One line of the doctor's report; `todo` says what to do when it is not `ok`. */
export interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly todo?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, level: 'ok', detail });
export const warn = (check: string, detail: string, todo: string): Finding => ({
  check,
  level: 'warn',
  detail,
  todo,
});
export const fail = (check: string, detail: string, todo: string): Finding => ({
  check,
  level: 'fail',
  detail,
  todo,
});

export const renderFindings = (findings: readonly Finding[]): string =>
  renderTable(
    ['', 'CHECK', 'FINDING'],
    findings.map(({ check, level, detail, todo }) => [
      level,
      check,
      todo === undefined ? detail : `${detail} -> ${todo}`,
    ]),
  );

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
