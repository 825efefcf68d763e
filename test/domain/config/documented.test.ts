import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { configurationPage, documentedSettings } from '../../../domain/config/documented.js';
import { svcSettings } from '../../../domain/config/svc.js';

describe('docs/configuration.md', () => {
  it('is what the parsers say (run npm run docs)', () => {
    const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page).toBe(configurationPage());
  });

  it('has every setting that the services parse', () => {
    const documented = documentedSettings.flatMap(({ spec }) => Object.keys(spec));
    expect(documented).toEqual(expect.arrayContaining(Object.keys(svcSettings)));
    expect(new Set(documented).size).toBe(documented.length);
  });
});
