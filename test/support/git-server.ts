import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate for 127.0.0.1 that signs itself. */
const selfSigned = async (dir: string): Promise<{ readonly key: string; readonly cert: string }> => {
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
  ]);
  return { key, cert };
};

/** Passes a request to `git http-backend` (CGI). */
const backend = (root: string, request: IncomingMessage, response: ServerResponse): void => {
  const url = new URL(request.url ?? '/', 'https://git');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  child.on('close', () => {
    const all = Buffer.concat(parts);
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.subarray(0, end).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(': ', 2);
      if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
      else if (name !== '') response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
};

/** Git repositories over https on a port of their own. */
export const gitServer = async () => {
  const dir = await mkdtemp(join(tmpdir(), 'keystead-git-'));
  const { key, cert } = await selfSigned(dir);
  const seen: { readonly path: string; readonly authorization: string | undefined }[] = [];
  let hold: Promise<void> = Promise.resolve();
  let password: string | undefined;
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    seen.push({ path: request.url ?? '', authorization: request.headers.authorization });
    if (password !== undefined && request.headers.authorization === undefined) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end();
      return;
    }
    void hold.then(() => backend(dir, request, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    caFile: cert,
    seen,
    /** Asks for credentials from now on; any will do. */
    requirePassword: (given: string | undefined) => {
      password = given;
    },
    /** Answers nothing until `release` is called. */
    pause: (): (() => void) => {
      let release = (): void => undefined;
      hold = new Promise((done) => (release = done));
      return release;
    },
    /** A bare repository with these files on `main`; returns its URL. */
    repository: async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
      const work = join(dir, `${name}.work`);
      const git = (...args: string[]) =>
        run('git', [
          '-C',
          work,
          '-c',
          'user.name=t',
          '-c',
          'user.email=t@t',
          '-c',
          'init.defaultBranch=main',
          ...args,
        ]);
      await mkdir(work, { recursive: true });
      await git('init', '-q');
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(work, path)), { recursive: true });
        await writeFile(join(work, path), text);
      }
      await git('add', '-A');
      await git('commit', '-qm', 'one');
      await run('git', ['clone', '-q', '--bare', work, join(dir, `${name}.git`)]);
      return `${url}/${name}.git`;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await rm(dir, { recursive: true, force: true });
    },
  };
};
