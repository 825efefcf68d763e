import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { configurationPage } from '../domain/config/documented.js';

/** `npm run docs`: writes the pages that are generated from the code. */
const target = resolve('docs/configuration.md');
writeFileSync(target, configurationPage());
process.stdout.write(`wrote ${target}\n`);
