import { runWithProgress } from './cache.mjs';
import { findProgram } from './programs.mjs';

/** Programs that the tests use and npm cannot install: the program looked for, its Debian package, and what needs it. */
export const SYSTEM_PROGRAMS = [
  { program: 'swtpm', debian: 'swtpm', use: 'software TPM: end-to-end tests of attestation' },
  { program: 'swtpm_setup', debian: 'swtpm-tools', use: 'makes the software TPM and its EK certificate' },
  { program: 'tpm2', debian: 'tpm2-tools', use: 'drives the software TPM as a node does' },
  { program: 'java', debian: 'default-jre-headless', use: 'time-skipping Temporal test server' },
  { program: 'mvn', debian: 'maven', use: 'fetches the time-skipping Temporal test server' },
  { program: 'chromium', debian: 'chromium', use: 'tests of the web pages' },
  { program: 'git', debian: 'git', use: 'deployments clone repositories' },
  { program: 'openssl', debian: 'openssl', use: 'a second opinion on certificates' },
  { program: 'wrk', debian: 'wrk', use: 'load for npm run bench' },
];

/** Programs that must be there but that Debian's stable packages do not hold in a new enough version. */
const TOOLCHAINS = [
  {
    program: 'go',
    hint: 'Go 1.24 or later, see https://go.dev/doc/install',
    use: 'node OS config loader, IaC CLI',
  },
];

const missingOf = (list) => list.filter(({ program }) => findProgram(program) === undefined);

const describe = (list) => list.map(({ program, use }) => `  - ${program}: ${use}`).join('\n');

const mayInstall = () => process.getuid?.() === 0 && findProgram('apt-get') !== undefined;

const aptInstall = async (packages) => {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runWithProgress('reading the package lists', 'apt-get', ['update', '-q'], { env });
  const args = ['install', '-y', '-q', '--no-install-recommends', ...packages];
  await runWithProgress(`installing ${packages.join(', ')}`, 'apt-get', args, { env });
};

/**
 * Makes sure that every program the tests need is there: installs Debian packages when it may (root, apt-get), else throws
 * an Error that names what is missing, what for, and the command that installs it.
 * @returns {Promise<void>}
 */
export const ensureSystemPrograms = async (programs = SYSTEM_PROGRAMS) => {
  const missing = missingOf(programs);
  const packages = missing.map(({ debian }) => debian);
  if (missing.length > 0 && mayInstall()) await aptInstall(packages);
  const still = missingOf(programs);
  if (still.length > 0)
    throw new Error(
      `These programs are missing:\n${describe(still)}\nOn Debian and Ubuntu: sudo apt-get install -y ${still.map(({ debian }) => debian).join(' ')}`,
    );
  const toolchains = missingOf(TOOLCHAINS);
  if (toolchains.length > 0)
    throw new Error(
      `These toolchains are missing:\n${describe(toolchains)}\n${toolchains.map(({ hint }) => `Install ${hint}`).join('\n')}`,
    );
};
