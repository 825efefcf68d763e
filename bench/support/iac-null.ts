/** A state backend that answers at once and stores nothing: what the CLI itself needs for an update. Port by NULL_PORT. */
import { createServer } from 'node:http';

const user = { githubLogin: 'null', name: 'null', avatarUrl: '', organizations: [{ githubLogin: 'null' }] };
const stack = { orgName: 'null', projectName: 'p', stackName: 'dev', activeUpdate: '', version: 0, tags: {} };
const answers: readonly (readonly [RegExp, (path: string) => object])[] = [
  [/^\/api\/user$/, () => user],
  [/^\/api\/user\/organizations\/default$/, () => ({ GitHubLogin: 'null', Messages: [] })],
  [/^\/api\/capabilities$/, () => ({ capabilities: [{ capability: 'batch-encrypt' }] })],
  [/\/export/, () => ({ version: 3, deployment: { manifest: {}, resources: [] } })],
  [/\/encrypt$/, () => ({ ciphertext: 'AAAA' })],
  [/\/batch-decrypt$/, () => ({ plaintexts: {} })],
  [/\/renew_lease$/, () => ({ token: 'none' })],
  [/\/update\/[^/]+$/, () => ({ version: 1, token: 'none', journalVersion: 1 })],
  [/\/update$/, () => ({ updateID: '00000000-0000-4000-8000-000000000000' })],
  [
    /^\/api\/stacks\/[^/]+\/[^/]+\/[^/]+$/,
    (path) => ({ ...stack, projectName: path.split('/')[4], stackName: path.split('/')[5] }),
  ],
];

createServer((request, response) => {
  const path = new URL(request.url ?? '/', 'http://null').pathname;
  const answer = answers.find(([pattern]) => pattern.test(path))?.[1](path) ?? {};
  request.resume().once('end', () => {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  });
}).listen(Number(process.env['NULL_PORT']), '127.0.0.1', () => process.stdout.write('listening\n'));
