import type { SvcConfig } from '../../domain/config/svc.js';
import { createImageFactory } from '../adapters/image-factory.js';

export interface ImageSource {
  /** Address of an image whose kernel fetches its config from `configUrl`. Throws `unavailable`. */
  readonly imageFor: (configUrl: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** The prebuilt image when one is configured, else the image factory. */
export const createImageSource = (config: SvcConfig): ImageSource => {
  const { SVC_ISO_URL: prebuilt } = config;
  if (prebuilt !== undefined)
    return { imageFor: () => Promise.resolve(prebuilt), close: () => Promise.resolve() };
  const factory = createImageFactory({
    url: config.SVC_FACTORY_URL,
    extensions: config.SVC_FACTORY_EXTENSIONS,
    talosVersion: config.SVC_TALOS_VERSION,
  });
  return { imageFor: (configUrl) => factory.isoUrl(configUrl), close: () => factory.close() };
};
