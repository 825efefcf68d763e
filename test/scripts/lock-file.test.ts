import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';

it('package-lock.json has an entry for every optional dependency, else npm ci refuses it', () => {
  const script = resolve(import.meta.dirname, '../../scripts/tools/complete-lock.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
