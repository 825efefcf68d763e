import { gzipSync } from 'node:zlib';
import { IAC_ORG, IAC_TOKEN } from './iac.js';

export interface Answer<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: T;
}

interface Options {
  readonly auth?: string;
  readonly gzip?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RunningUpdate {
  readonly id: string;
  readonly version: number;
  readonly token: string;
  readonly journalVersion: number | undefined;
  /** Calls below the update's path, with its own token. */
  readonly send: (method: string, rest: string, body?: unknown, options?: Options) => Promise<Answer>;
  readonly complete: (status?: string) => Promise<Answer>;
}

/** Speaks to the state backend as the CLI does. Bodies: text and bytes go as they are, the rest as JSON. */
export const iacClient = (url: string) => {
  const send = async <T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    { auth = `token ${IAC_TOKEN}`, gzip = false, headers = {} }: Options = {},
  ): Promise<Answer<T>> => {
    const raw =
      body === undefined || typeof body === 'string' || body instanceof Uint8Array
        ? body
        : JSON.stringify(body);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'pulumi-cli/1 (v3.259.0; linux; cmd=up)',
        ...(auth === '' ? {} : { Authorization: auth }),
        ...(gzip ? { 'Content-Encoding': 'gzip' } : {}),
        ...headers,
      },
      ...(raw === undefined ? {} : { body: gzip ? gzipSync(raw) : (raw as string) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : {}) as T,
    };
  };

  const stack = (name: string, project = 'shop') => {
    const base = `/api/stacks/${IAC_ORG}/${project}/${name}`;
    const call = <T = Record<string, unknown>>(
      method: string,
      rest = '',
      body?: unknown,
      options?: Options,
    ) => send<T>(method, `${base}${rest}`, body, options);

    const announce = async (kind = 'update', request: object = {}): Promise<Answer<{ updateID: string }>> =>
      call('POST', `/${kind}`, { options: {}, metadata: { message: 'm', environment: {} }, ...request });

    const start = async (
      kind = 'update',
      request: object = {},
      journalVersion = 1,
    ): Promise<RunningUpdate> => {
      const { body } = await announce(kind, request);
      const started = await call<{ token: string; version: number; journalVersion?: number }>(
        'POST',
        `/update/${body.updateID}`,
        { journalVersion },
      );
      if (started.status !== 200) throw new Error(`start: ${started.status} ${started.text}`);
      const { token, version } = started.body;
      const inUpdate: RunningUpdate['send'] = (method, rest, content, options) =>
        call(method, `/update/${body.updateID}${rest}`, content, {
          auth: `update-token ${token}`,
          ...options,
        });
      return {
        id: body.updateID,
        version,
        token,
        journalVersion: started.body.journalVersion,
        send: inUpdate,
        complete: (status = 'succeeded') => inUpdate('POST', '/complete', { status }),
      };
    };

    return {
      base,
      call,
      announce,
      start,
      create: (body: object = {}) =>
        send('POST', `/api/stacks/${IAC_ORG}/${project}`, { stackName: name, ...body }),
      exported: async () => (await call<ExportBody>('GET', '/export')).body,
    };
  };
  return { send, stack };
};

export interface ExportBody {
  readonly version: number;
  readonly features?: readonly string[];
  readonly deployment: {
    readonly resources?: readonly { readonly urn: string; readonly type: string }[];
    readonly pending_operations?: readonly { readonly resource: { readonly urn: string } }[];
  };
}

export const stashUrn = (name: string, stack = 'dev', project = 'shop'): string =>
  `urn:pulumi:${stack}::${project}::pulumi:index:Stash::${name}`;

export const stashResource = (name: string, more: object = {}) => ({
  urn: stashUrn(name),
  custom: true,
  type: 'pulumi:index:Stash',
  id: `id-${name}`,
  inputs: { input: name },
  ...more,
});

export const stateOf = (...names: string[]) => ({
  version: 3,
  deployment: {
    manifest: { time: '2026-01-01T00:00:00Z', magic: '', version: '' },
    resources: names.map((name) => stashResource(name)),
  },
});

/** Begin and success of a create, numbered from `sequence`. */
export const createEntries = (name: string, sequence: number) => [
  {
    version: 1,
    kind: 0,
    sequenceID: sequence,
    operationID: sequence,
    removeOld: null,
    removeNew: null,
    operation: { resource: stashResource(name), type: 'creating' },
  },
  {
    version: 1,
    kind: 1,
    sequenceID: sequence + 1,
    operationID: sequence,
    removeOld: null,
    removeNew: null,
    state: stashResource(name),
  },
];
