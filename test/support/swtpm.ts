import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * A software TPM 2.0 with its own maker's CA, manufactured in a temporary folder: RSA-2048 and P-384 endorsement keys with
 * certificates in NV. Needs swtpm, swtpm-tools and tpm2-tools (Debian).
 */
export interface SoftTpm {
  /** Working folder for key and blob files; every tool runs in it. */
  readonly dir: string;
  /** PEM certificates of the maker: intermediate and root. */
  readonly makerCertificates: readonly string[];
  /** Runs one tpm2 tool, e.g. `tool('quote', '-c', …)`, and frees transient slots after it. */
  tool(name: string, ...args: readonly string[]): Promise<string>;
  write(file: string, bytes: Uint8Array): Promise<void>;
  read(file: string): Promise<Buffer>;
  /** The EK certificate as its NV index holds it. */
  ekCertificate(kind: EkKind): Promise<Buffer>;
  /** Power cycle: transient keys and PCRs are lost, resetCount rises. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
}
export type EkKind = 'rsa' | 'ecc';

/** Handles and NV indices that swtpm_setup uses. */
export const ekHandles: Readonly<Record<EkKind, string>> = { rsa: '0x81010001', ecc: '0x81010016' };
const ekIndices: Readonly<Record<EkKind, string>> = { rsa: '0x1c00002', ecc: '0x1c00016' };

const manufacture = async (root: string): Promise<void> => {
  const ca = join(root, 'ca');
  await mkdir(join(root, 'state'));
  await mkdir(ca);
  await writeFile(
    join(root, 'localca.options'),
    '--platform-manufacturer Test\n--platform-version 2.1\n--platform-model QEMU\n',
  );
  await writeFile(
    join(root, 'localca.conf'),
    `statedir = ${ca}\nsigningkey = ${ca}/signkey.pem\nissuercert = ${ca}/issuercert.pem\ncertserial = ${ca}/certserial\n`,
  );
  await writeFile(
    join(root, 'setup.conf'),
    [
      'create_certs_tool = /usr/bin/swtpm_localca',
      `create_certs_tool_config = ${join(root, 'localca.conf')}`,
      `create_certs_tool_options = ${join(root, 'localca.options')}`,
      '',
    ].join('\n'),
  );
  const user = process.getuid?.() === 0 ? ['--runas', 'root'] : [];
  await run('swtpm_setup', [
    '--tpm2',
    ...user,
    ...['--tpmstate', join(root, 'state'), '--config', join(root, 'setup.conf')],
    ...['--create-ek-cert', '--create-platform-cert', '--pcr-banks', 'sha256,sha384'],
  ]);
};

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
};

/** The TCTI wants the control channel on the port after the data channel. */
const freePortPair = async (): Promise<number> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
  throw new Error('no two neighbouring free ports');
};

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (ok: boolean) => {
      socket.destroy();
      resolve(ok);
    };
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });

interface Running {
  readonly process: ChildProcess;
  readonly port: number;
}

const powerOn = async (root: string): Promise<Running> => {
  const port = await freePortPair();
  const child = spawn(
    'swtpm',
    [
      ...['socket', '--tpm2', '--tpmstate', `dir=${join(root, 'state')}`],
      ...['--server', `type=tcp,port=${port},bindaddr=127.0.0.1`],
      ...['--ctrl', `type=tcp,port=${port + 1},bindaddr=127.0.0.1`],
      ...['--flags', 'not-need-init,startup-clear'],
    ],
    { stdio: 'ignore' },
  );
  const deadline = Date.now() + 10_000;
  // The control channel takes many connections; the data channel would take ours for a client.
  while (!(await answers(port + 1))) {
    if (Date.now() > deadline || child.exitCode !== null) throw new Error('swtpm did not start');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { process: child, port };
};

const powerOff = async ({ process: child }: Running): Promise<void> => {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
};

const makerCertificates = async (root: string): Promise<string[]> => [
  await readFile(join(root, 'ca', 'issuercert.pem'), 'utf8'),
  await readFile(join(root, 'ca', 'swtpm-localca-rootca-cert.pem'), 'utf8'),
];

export const startSoftTpm = async (): Promise<SoftTpm> => {
  const root = await mkdtemp(join(tmpdir(), 'keystead-tpm-'));
  const dir = join(root, 'node');
  await mkdir(dir);
  await manufacture(root);
  let running = await powerOn(root);

  const exec = async (name: string, args: readonly string[]): Promise<string> => {
    const tcti = `swtpm:host=127.0.0.1,port=${running.port}`;
    const options = { cwd: dir, env: { PATH: process.env['PATH'] ?? '', TPM2TOOLS_TCTI: tcti } };
    return (await run(`tpm2_${name}`, args, options)).stdout;
  };
  const tool: SoftTpm['tool'] = async (name, ...args) => {
    try {
      return await exec(name, args);
    } finally {
      await exec('flushcontext', ['-t']);
    }
  };
  return {
    dir,
    makerCertificates: await makerCertificates(root),
    tool,
    write: (file, bytes) => writeFile(join(dir, file), bytes),
    read: (file) => readFile(join(dir, file)),
    ekCertificate: async (kind) => {
      await tool('nvread', ekIndices[kind], '-o', `ek-${kind}.der`);
      return readFile(join(dir, `ek-${kind}.der`));
    },
    reboot: async () => {
      await exec('shutdown', ['-c']);
      await powerOff(running);
      running = await powerOn(root);
    },
    stop: async () => {
      await powerOff(running);
      await rm(root, { recursive: true, force: true });
    },
  };
};
