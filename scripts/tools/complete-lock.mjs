/**
 * `node scripts/tools/complete-lock.mjs [--check]`: gives every optional dependency of package-lock.json an entry.
 * npm leaves out the builds for other platforms when the registry does not serve them, and `npm ci` then refuses the
 * lock file everywhere. Added entries carry no integrity: npm fills it where such a build is really installed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './paths.mjs';

const path = join(packageRoot(), 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8'));
const { packages } = lock;

/** The folder that Node.js would find `name` in from `parent`, or undefined. */
const resolved = (parent, name) => {
  const parts = parent.split('/node_modules/');
  for (let depth = parts.length; depth > 0; depth -= 1) {
    const place = `${parts.slice(0, depth).join('/node_modules/')}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
  }
  return packages[`node_modules/${name}`] === undefined ? undefined : `node_modules/${name}`;
};

const OPERATING_SYSTEMS = [
  'darwin',
  'linux',
  'win32',
  'freebsd',
  'android',
  'openharmony',
  'sunos',
  'aix',
  'wasm32',
];
const PROCESSORS = [
  'arm64',
  'arm',
  'x64',
  'ia32',
  'ppc64',
  'riscv64',
  's390x',
  'loong64',
  'mips64el',
  'wasm32',
];

/** `…-darwin-arm64` names its platform; where it does not, an impossible one keeps the package from being installed. */
const platformOf = (name) => {
  const words = name.split(/[-/]/);
  const os = OPERATING_SYSTEMS.find((word) => words.includes(word)) ?? 'none';
  const cpu =
    PROCESSORS.find((word) => words.includes(word)) ?? (words.includes('universal') ? undefined : 'none');
  return { os: [os], ...(cpu === undefined ? {} : { cpu: [cpu] }) };
};

const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {}, dev }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => resolved(parent, name) === undefined)
    .map(([name, range]) => ({ name, version: range.replace(/^[~^]/, ''), dev })),
);

if (process.argv.includes('--check')) {
  for (const { name, version } of missing)
    console.error(`${name}@${version} has no entry in package-lock.json`);
  process.exitCode = missing.length === 0 ? 0 : 1;
} else {
  for (const { name, version, dev } of missing)
    packages[`node_modules/${name}`] = {
      version,
      ...platformOf(name),
      ...(dev ? { dev } : {}),
      optional: true,
    };
  lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en')));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${missing.length} entries added`);
}
