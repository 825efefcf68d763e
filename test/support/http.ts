/** An answer with its JSON parsed; `body` is the text when it is no JSON. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests read any shape and assert on it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

export interface HttpClient {
  readonly get: (path: string, headers?: Record<string, string>) => Promise<HttpAnswer>;
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<HttpAnswer>;
  readonly put: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<HttpAnswer>;
  readonly delete: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<HttpAnswer>;
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Calls a running gateway. */
export const httpClient = (baseUrl: string, always: Record<string, string> = {}): HttpClient => {
  const call = async (
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...always,
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  };
  return {
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    delete: (path, body, headers) => call('DELETE', path, body, headers),
  };
};
