import { stringify } from 'yaml';
import { z } from 'zod';
import { AppError } from '../../domain/errors.js';
import { createOutbound } from './http.js';
import type { OutboundOptions } from './http.js';

export interface ImageFactory {
  /**
   * Address of the ISO whose kernel fetches its config from `configUrl`. The factory names a schematic by its
   * content, so asking again gives the same address. Throws `unavailable` (code `factory_unavailable`).
   */
  isoUrl(configUrl: string): Promise<string>;
  close(): Promise<void>;
}

export interface ImageFactoryOptions {
  /** SVC_FACTORY_URL, without a slash at its end. */
  readonly url: string;
  /** SVC_FACTORY_EXTENSIONS. */
  readonly extensions: readonly string[];
  /** SVC_TALOS_VERSION. */
  readonly talosVersion: string;
  readonly timeoutMs?: number;
  /** Tests resolve and dial here. */
  readonly network?: Pick<OutboundOptions, 'resolver' | 'dialer'>;
}

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 65_536;

/** The id becomes part of an address that a machine boots from. */
const Schematic = z.object({ id: z.string().regex(/^[A-Za-z0-9_-]{8,128}$/) });

/**
 * Client of the image factory's protocol. Its address is a setting of the operator, who may well run a factory on a
 * private network or without TLS: that one origin is trusted, everything else stays behind the address guard.
 */
export const createImageFactory = (options: ImageFactoryOptions): ImageFactory => {
  const outbound = createOutbound({ policy: { trustedOrigins: [options.url] }, ...options.network });
  const extensions = [...new Set(options.extensions)];

  const schematicId = async (configUrl: string): Promise<string> => {
    const answer = await outbound.request(`${options.url}/schematics`, {
      method: 'POST',
      headers: { 'content-type': 'application/yaml', accept: 'application/json' },
      body: schematicOf(configUrl, extensions),
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
    });
    if (answer.status < 200 || answer.status > 299) throw new Error(`it answered ${answer.status}`);
    return Schematic.parse(JSON.parse(answer.body.toString('utf8'))).id;
  };
  return {
    isoUrl: async (configUrl) => {
      try {
        const id = await schematicId(configUrl);
        return `${options.url}/image/${id}/${options.talosVersion}/metal-amd64.iso`;
      } catch (cause) {
        throw new AppError('unavailable', 'the image factory cannot be reached', {
          code: 'factory_unavailable',
          cause,
        });
      }
    },
    close: () => outbound.close(),
  };
};

const schematicOf = (configUrl: string, extensions: readonly string[]): string =>
  stringify({
    customization: {
      extraKernelArgs: [`talos.config=${configUrl}`],
      systemExtensions: { officialExtensions: extensions },
    },
  });
