import { connect } from 'node:net';

export interface RawAnswer {
  /** Status of the first answer; 0 when the connection was closed without one. */
  readonly status: number;
  readonly text: string;
  /** Bytes of `chunks` that were taken before the other side stopped reading. */
  readonly written: number;
}

/** Sends bytes as they are, piece by piece while the other side takes them, and reads until it closes. */
export const rawHttp = (
  port: number,
  chunks: Iterable<string | Buffer>,
  graceMs = 3_000,
): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const received: Buffer[] = [];
    let written = 0;
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const text = Buffer.concat(received).toString('latin1');
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, written });
    };
    const timer = setTimeout(done, graceMs);
    const pieces = chunks[Symbol.iterator]();
    const send = (): void => {
      const { done: empty, value } = pieces.next();
      if (empty === true || socket.destroyed || received.length > 0) return;
      socket.write(value, () => {
        written += value.length;
        setImmediate(send);
      });
    };
    socket.on('connect', send);
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.on('error', done);
    socket.on('end', done);
  });
