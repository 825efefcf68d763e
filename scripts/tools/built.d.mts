/** True when a source is newer than the last build that succeeded. */
export declare const isStale: (root: string) => boolean;

/** Compiles into dist/ and bundles the workflows; nothing when dist/ is current, unless forced. */
export declare const ensureBuilt: (
  root: string,
  options?: { readonly force?: boolean; readonly log?: (line: string) => void },
) => Promise<void>;
