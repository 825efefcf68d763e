import { readFileSync } from 'node:fs';
import type { Dispatcher } from 'undici';
import { Agent, fetch } from 'undici';
import { workflowLink } from '../../../api/temporal/ui-link.js';

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

interface Call {
  readonly method?: string;
  readonly token?: string;
  readonly body?: object;
  readonly dispatcher?: Dispatcher;
}

/** One call of the story; anything but 2xx ends the story with what was answered. */
export const call = async <T>(
  url: string,
  { method, token, body, dispatcher }: Call = {},
): Promise<Answer<T>> => {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, body: (isJson ? JSON.parse(text) : text) as T };
};

/** For the local cloud, whose certificate only its own authority vouches for. */
export const trusting = (caFile: string | undefined): Dispatcher | undefined =>
  caFile === undefined ? undefined : new Agent({ connect: { ca: readFileSync(caFile) } });

/** Where to watch a workflow. */
export const linkTo = (env: Readonly<Record<string, string>>, workflowId: string): string =>
  workflowLink(
    {
      TEMPORAL_UI_URL: env['TEMPORAL_UI_URL'] ?? '',
      TEMPORAL_NAMESPACE: env['TEMPORAL_NAMESPACE'] ?? 'default',
    },
    workflowId,
  );
